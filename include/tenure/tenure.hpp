#pragma once

// Includes the public library: worker pools in which every key has exactly one live holder. Start at tenure/pool.hpp.

#include <tenure/assignment.hpp>
#include <tenure/checkout.hpp>
#include <tenure/defaults.hpp>
#include <tenure/emit.hpp>
#include <tenure/emit_limits.hpp>
#include <tenure/error.hpp>
#include <tenure/handler.hpp>
#include <tenure/handlers.hpp>
#include <tenure/job.hpp>
#include <tenure/job_match.hpp>
#include <tenure/kinds.hpp>
#include <tenure/listing.hpp>
#include <tenure/options.hpp>
#include <tenure/outcome.hpp>
#include <tenure/partition.hpp>
#include <tenure/pool.hpp>
#include <tenure/redis_fence.hpp>
#include <tenure/result.hpp>
#include <tenure/source.hpp>
#include <tenure/stream.hpp>
#include <tenure/stream_reader.hpp>
#include <tenure/ticket.hpp>
#include <tenure/worker.hpp>
