#include "log_conformance/temporary_directory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/assert.h"

namespace tenure::conformance {

TemporaryDirectory::TemporaryDirectory() : path_(testing::TempDir() + "tenure-log-XXXXXX") {
  ASSERT(mkdtemp(path_.data()) != nullptr);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace tenure::conformance
