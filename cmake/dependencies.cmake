# What comes from outside, all of it from Debian's packages (tools/bootstrap installs them).

find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)

# protobuf's headers warn under our flags and its generated sources are not ours to mend.
add_library(tenure_protobuf INTERFACE)
target_include_directories(tenure_protobuf SYSTEM INTERFACE ${Protobuf_INCLUDE_DIRS})
target_link_libraries(tenure_protobuf INTERFACE protobuf::libprotobuf-lite)

# Headers only; what has sources is compiled here.
find_path(TENURE_BOOST_HEADERS boost/json.hpp REQUIRED)
add_library(tenure_boost INTERFACE)
target_include_directories(tenure_boost SYSTEM INTERFACE ${TENURE_BOOST_HEADERS})

if(TENURE_SQLITE)
  find_package(SQLite3 REQUIRED)
endif()

# Redis is built where its libraries are found, unless it is asked for or against.
find_path(TENURE_HIREDIS_HEADERS hiredis/hiredis.h)
find_library(TENURE_HIREDIS_LIBRARY hiredis)
find_package(OpenSSL QUIET)
if(TENURE_HIREDIS_HEADERS AND TENURE_HIREDIS_LIBRARY AND OpenSSL_FOUND)
  set(TENURE_REDIS_FOUND ON)
else()
  set(TENURE_REDIS_FOUND OFF)
endif()
option(TENURE_REDIS "Build the engine for Redis" ${TENURE_REDIS_FOUND})
if(TENURE_REDIS)
  if(NOT TENURE_REDIS_FOUND)
    message(FATAL_ERROR "TENURE_REDIS needs libhiredis-dev and libssl-dev, or what corresponds to them")
  endif()
  add_library(tenure_hiredis INTERFACE)
  target_include_directories(tenure_hiredis SYSTEM INTERFACE ${TENURE_HIREDIS_HEADERS})
  target_link_libraries(tenure_hiredis INTERFACE ${TENURE_HIREDIS_LIBRARY})
endif()

# A job's memory is often freed by another thread than allocated it, for which the C library's allocator takes locks:
# jemalloc is a quarter quicker. It is linked into the program; who links the library chooses for themselves. Sanitizers
# bring an allocator of their own.
find_library(TENURE_JEMALLOC_LIBRARY NAMES libjemalloc_pic.a)
if(TENURE_JEMALLOC_LIBRARY AND NOT TENURE_SANITIZE)
  set(TENURE_JEMALLOC_FOUND ON)
else()
  set(TENURE_JEMALLOC_FOUND OFF)
endif()
option(TENURE_JEMALLOC "Link the program with jemalloc" ${TENURE_JEMALLOC_FOUND})

if(TENURE_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(TENURE_BENCH)
  find_package(benchmark REQUIRED)
endif()
