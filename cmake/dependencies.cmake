# External libraries, all from Debian's packages (tools/bootstrap installs them).

find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)

# tenure_dependency(NAME SHARED ARCHIVE): an interface library tenure_NAME. It links ARCHIVE if that is found and the
# program has the property TENURE_EMBEDS, and SHARED otherwise. Embedded code is called without the loader's tables and
# is close together in memory, which saves some 2 µs of an idle dispatch, where caches are cold. Such a program runs on
# hosts without these libraries. OpenSSL comes from the system, which updates it, and so does librdkafka.
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
option(TENURE_EMBED "Link the program with archives of its libraries if they are installed" ${TENURE_EMBED_DEFAULT})

# protobuf's headers cause warnings with our flags, and we cannot fix its generated sources.
tenure_dependency(protobuf protobuf::libprotobuf-lite libprotobuf-lite.a)
target_include_directories(tenure_protobuf SYSTEM INTERFACE ${Protobuf_INCLUDE_DIRS})

# Headers only; its sources are compiled here.
find_path(TENURE_BOOST_HEADERS boost/json.hpp REQUIRED)
add_library(tenure_boost INTERFACE)
target_include_directories(tenure_boost SYSTEM INTERFACE ${TENURE_BOOST_HEADERS})

if(TENURE_SQLITE)
  find_package(SQLite3 REQUIRED)
  tenure_dependency(sqlite SQLite::SQLite3 libsqlite3.a)
endif()

# TLS and Redis are built if their libraries are found, unless the options say otherwise.
find_package(OpenSSL QUIET)
option(TENURE_TLS "Build with TLS (OpenSSL)" ${OpenSSL_FOUND})
if(TENURE_TLS AND NOT OpenSSL_FOUND)
  message(FATAL_ERROR "TENURE_TLS needs libssl-dev or its equivalent")
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
    message(FATAL_ERROR "TENURE_REDIS needs TENURE_TLS, and libhiredis-dev or its equivalent")
  endif()
  tenure_dependency(hiredis ${TENURE_HIREDIS_LIBRARY} libhiredis.a)
  target_include_directories(tenure_hiredis SYSTEM INTERFACE ${TENURE_HIREDIS_HEADERS})
endif()

# Debian has no archives of all libraries that librdkafka's archive needs, so it is always linked shared.
find_path(TENURE_RDKAFKA_HEADERS librdkafka/rdkafka.h)
find_library(TENURE_RDKAFKA_LIBRARY rdkafka)
if(TENURE_RDKAFKA_HEADERS AND TENURE_RDKAFKA_LIBRARY)
  set(TENURE_KAFKA_FOUND ON)
else()
  set(TENURE_KAFKA_FOUND OFF)
endif()
option(TENURE_KAFKA "Build the engine for Apache Kafka" ${TENURE_KAFKA_FOUND})
if(TENURE_KAFKA)
  if(NOT TENURE_KAFKA_FOUND)
    message(FATAL_ERROR "TENURE_KAFKA needs librdkafka-dev or its equivalent")
  endif()
  add_library(tenure_rdkafka INTERFACE)
  target_link_libraries(tenure_rdkafka INTERFACE ${TENURE_RDKAFKA_LIBRARY})
  target_include_directories(tenure_rdkafka SYSTEM INTERFACE ${TENURE_RDKAFKA_HEADERS})
endif()

# A job's memory is often allocated by one thread and freed by another. The C library's allocator takes locks for that;
# jemalloc is a quarter faster. It is linked into the program. Users of the library choose for themselves. Sanitizers
# have their own allocator.
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
