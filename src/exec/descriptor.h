#pragma once

// Everything in src/exec opens its descriptors close-on-exec.

#include "base/descriptor.h"

namespace tenure::exec {

using tenure::Descriptor;

}  // namespace tenure::exec
