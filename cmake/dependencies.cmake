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
if(TENURE_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(TENURE_BENCH)
  find_package(benchmark REQUIRED)
endif()
