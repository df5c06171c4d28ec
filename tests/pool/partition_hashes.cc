// Prints the partition of each line of its input, of as many partitions as its argument says.

#include <cstdlib>
#include <iostream>
#include <string>
#include <tenure/partition.hpp>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto partitions = static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10));
  for (std::string key; std::getline(std::cin, key);) std::cout << tenure::partition_of(key, partitions) << '\n';
}
