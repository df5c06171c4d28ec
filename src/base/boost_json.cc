// Compiles Boost.JSON from its headers, so that no further package is needed.

#include <boost/json/src.hpp>
