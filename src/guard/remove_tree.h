#pragma once

// Removes a folder with all that is in it, whatever a program has made of it: hundreds of thousands of files, folders a
// hundred thousand deep, folders without any rights. It needs three descriptors and no memory to speak of, since
// folders in folders are moved up before they are emptied. What std::filesystem::remove_all does would take a
// descriptor for each level, and stop at the first folder that it may not read.
//
// It never leaves the folder: symbolic links are removed and not followed, and what is mounted below it is left alone,
// so that the folder then stays.

#include <atomic>
#include <string>

namespace tenure::guard {

// Ends early, and soon, once `stop` is set. Whether nothing is left.
bool remove_tree(const std::string& path, const std::atomic<bool>& stop);
bool remove_tree(const std::string& path);

}  // namespace tenure::guard
