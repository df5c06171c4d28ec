# What comes from outside, all of it from Debian's packages (tools/bootstrap installs them).

find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)

# tenure_dependency(NAME SHARED ARCHIVE): an interface library tenure_NAME that links the one, or the other where it is
# found and the program that is linked has the property TENURE_EMBEDS. Calls that go through no table of a loader, to
# code that lies together, save an idle dispatch some 2 µs, since they are made with cold caches; and such a program runs
# on a host that has none of these libraries. OpenSSL is left to the system, which mends it.
function(tenure_dependency name shared archive)
  find_library(TENURE_ARCHIVE_${name} NAMES ${archive})
  add_library(tenure_${name} INTERFACE)
  if(TENURE_ARCHIVE_${name})
    target_link_libraries(tenure_${name} INTERFACE
      $<IF:$<BOOL:$<TARGET_PROPERTY:TENURE_EMBEDS>>,${TENURE_ARCHIVE_${name}},${shared}>)
  else()
    target_link_libraries(tenure_${name} INTERFACE ${shared})
  endif()
endfunction()

if(TENURE_SANITIZE)
  set(TENURE_EMBED_DEFAULT OFF)
else()
  set(TENURE_EMBED_DEFAULT ON)
endif()
option(TENURE_EMBED "Link the program with archives of its libraries where there are any" ${TENURE_EMBED_DEFAULT})

# protobuf's headers warn under our flags and its generated sources are not ours to mend.
tenure_dependency(protobuf protobuf::libprotobuf-lite libprotobuf-lite.a)
target_include_directories(tenure_protobuf SYSTEM INTERFACE ${Protobuf_INCLUDE_DIRS})

# Headers only; what has sources is compiled here.
find_path(TENURE_BOOST_HEADERS boost/json.hpp REQUIRED)
add_library(tenure_boost INTERFACE)
target_include_directories(tenure_boost SYSTEM INTERFACE ${TENURE_BOOST_HEADERS})

if(TENURE_SQLITE)
  find_package(SQLite3 REQUIRED)
  tenure_dependency(sqlite SQLite::SQLite3 libsqlite3.a)
endif()

# TLS and Redis are built if their libraries are found, unless they are asked for or against.
find_package(OpenSSL QUIET)
option(TENURE_TLS "Build with TLS, by OpenSSL" ${OpenSSL_FOUND})
if(TENURE_TLS AND NOT OpenSSL_FOUND)
  message(FATAL_ERROR "TENURE_TLS needs libssl-dev, or what corresponds to it")
endif()

find_path(TENURE_HIREDIS_HEADERS hiredis/hiredis.h)
find_library(TENURE_HIREDIS_LIBRARY hiredis)
if(TENURE_HIREDIS_HEADERS AND TENURE_HIREDIS_LIBRARY AND TENURE_TLS)
  set(TENURE_REDIS_FOUND ON)
else()
  set(TENURE_REDIS_FOUND OFF)
endif()
option(TENURE_REDIS "Build the engine for Redis" ${TENURE_REDIS_FOUND})
if(TENURE_REDIS)
  if(NOT TENURE_REDIS_FOUND)
    message(FATAL_ERROR "TENURE_REDIS needs TENURE_TLS, and libhiredis-dev or what corresponds to it")
  endif()
  tenure_dependency(hiredis ${TENURE_HIREDIS_LIBRARY} libhiredis.a)
  target_include_directories(tenure_hiredis SYSTEM INTERFACE ${TENURE_HIREDIS_HEADERS})
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
