// Boost.JSON's own sources: Debian's headers bring them along, and so no further package is needed.

#include <boost/json/src.hpp>
