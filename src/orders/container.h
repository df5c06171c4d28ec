#pragma once

// Orders that name a container image: run by podman or docker, whichever the operator or PATH has.

#include <string>

#include "orders/child.h"
#include "orders/order.h"
#include "orders/run_options.h"

namespace tenure::orders {

// What podman and docker exit with if they could not run the container.
constexpr int kRuntimeFailed = 125;

// podman or docker, whichever PATH has; empty if it has neither.
std::string find_runtime();

// RUNTIME run --rm --name NAME --env-file FILE --volume $TENURE_DIR:/order [--interactive] IMAGE ARGUMENT…
//
// The name follows from pool and order. So a container that a worker which was killed has left behind is in the way of
// the next attempt on this host, which removes it. The pairs go through a file in $TENURE_DIR, because the arguments of
// a process can be read by everybody.
ChildPlan container_plan(const Order& order, const RunOptions& options);

// Removes what has that name. False if there was nothing, or it could not be.
bool remove_container(const RunOptions& options);

}  // namespace tenure::orders
