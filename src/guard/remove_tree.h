#pragma once

// Removes a folder with everything in it, whatever a program has made of it: hundreds of thousands of files, a hundred
// thousand nested folders, folders without any rights. It needs three descriptors and almost no memory, because nested
// folders are moved up before they are emptied. std::filesystem::remove_all would need a descriptor for each level, and
// stop at the first folder that it may not read.
//
// It never leaves the folder: symbolic links are removed but not followed. File systems mounted below it are left
// alone, and then the folder stays.

#include <atomic>
#include <string>

namespace tenure::guard {

// Ends early, and soon, once `stop` is set. True if nothing is left.
bool remove_tree(const std::string& path, const std::atomic<bool>& stop);
bool remove_tree(const std::string& path);

}  // namespace tenure::guard
