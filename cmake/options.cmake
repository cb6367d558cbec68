# Flags that hold for every target of ours.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# CMake's Release says -O3 -DNDEBUG; a debugger keeps its asserts.
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_C_FLAGS_RELEASE "-O2")

add_library(hangdbg_options INTERFACE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Memory for time: it collects its garbage at a gigabyte. And it warns of what an
  # #include brings, though that is the folder's own.
  target_compile_options(hangdbg_options INTERFACE
    "SHELL:--param ggc-min-expand=400" "SHELL:--param ggc-min-heapsize=1000000"
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
target_include_directories(hangdbg_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(hangdbg_options INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
# Clang, of the fuzz targets, warns of what is in g++'s own headers.
if(HANGDBG_WERROR AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(hangdbg_options INTERFACE -Werror)
endif()
target_compile_definitions(hangdbg_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:_GLIBCXX_ASSERTIONS>)
# The same bytes in whichever folder it is built (docs/releasing.md), also where ccache has
# made paths relative (CCACHE_BASEDIR). Debuggers of a Debug build find the sources by
# their whole paths.
file(RELATIVE_PATH up ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
target_compile_options(hangdbg_options INTERFACE
  $<$<CONFIG:Release>:-ffile-prefix-map=${up}=>
  $<$<CONFIG:Release>:-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=>
  $<$<CONFIG:Release>:-ffile-prefix-map=${CMAKE_BINARY_DIR}/=build/>)
# What nobody calls is not linked: the program is copied to where a process hangs.
if(NOT HANGDBG_SANITIZE)
  target_compile_options(hangdbg_options INTERFACE -ffunction-sections -fdata-sections)
  target_link_options(hangdbg_options INTERFACE -Wl,--gc-sections)
endif()
if(HANGDBG_SANITIZE)
  # GCC's manual: with sanitizers this warning is often wrong. And UBSan alone
  # would print what it finds and let the program go on to exit 0.
  target_compile_options(hangdbg_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
    -fsanitize=${HANGDBG_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer
    # Clang takes three times as long for what both sanitizers add at -O1: it is
    # kept for what reads bytes from outside, and has to be quick.
    $<IF:$<CXX_COMPILER_ID:GNU>,-g,-g1>
    $<IF:$<BOOL:$<TARGET_PROPERTY:HANGDBG_PLAIN_IF_SANITIZED>>,-O0,-O1>)
  target_link_options(hangdbg_options INTERFACE -fsanitize=${HANGDBG_SANITIZE})
endif()
if(HANGDBG_FUZZ)
  target_compile_options(hangdbg_options INTERFACE
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:HANGDBG_PLAIN_IF_SANITIZED>>>:-fsanitize=fuzzer-no-link>)
endif()

define_property(TARGET PROPERTY HANGDBG_PLAIN_IF_SANITIZED
  BRIEF_DOCS "Where sanitizers are on: not optimized, and no fuzz target follows it")

# hangdbg_layer(name LINKS... [SOURCES...] [EXCEPT...] [ALONE...] [PLAIN...] [APART]): the
# library of one folder: each .cpp below it, and SOURCES.
#
# Neighbours are compiled together, HANGDBG_UNITY of them at a time: most of a file's
# time goes to the headers and templates that its neighbours use as well. So what is in
# an anonymous namespace has a name of its own in its library; with APART, in its folder,
# for then only files of one folder are compiled together.
# EXCEPT, ALONE and PLAIN are regular expressions for paths below the folder: what is not
# part of it, what is compiled one by one, what is HANGDBG_PLAIN_IF_SANITIZED.
set(HANGDBG_UNITY 12 CACHE STRING "About how many files are compiled together; 1: none")

function(hangdbg_layer name)
  cmake_parse_arguments(LAYER "APART" "EXCEPT;ALONE;PLAIN" "SOURCES;LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS
    RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(LAYER_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "${LAYER_EXCEPT}")
  endif()
  list(APPEND sources ${LAYER_SOURCES})
  set(plain)
  if(HANGDBG_SANITIZE AND LAYER_PLAIN)
    set(plain ${sources})
    list(FILTER plain INCLUDE REGEX "${LAYER_PLAIN}")
    list(REMOVE_ITEM sources ${plain})
  endif()
  add_library(hangdbg_${name} STATIC ${sources})
  target_link_libraries(hangdbg_${name} PUBLIC hangdbg_options ${LAYER_LINKS})
  hangdbg_together(hangdbg_${name} "${LAYER_ALONE}" "${LAYER_APART}" ${sources})
  if(plain)
    add_library(hangdbg_${name}_plain OBJECT ${plain})
    set_target_properties(hangdbg_${name}_plain PROPERTIES HANGDBG_PLAIN_IF_SANITIZED ON)
    target_link_libraries(hangdbg_${name}_plain PRIVATE hangdbg_options ${LAYER_LINKS})
    hangdbg_together(hangdbg_${name}_plain "${LAYER_ALONE}" "${LAYER_APART}" ${plain})
    target_sources(hangdbg_${name} PRIVATE $<TARGET_OBJECTS:hangdbg_${name}_plain>)
  endif()
endfunction()

# hangdbg_together(target alone apart source...): HANGDBG_UNITY of them at a time, neighbours
# first.
function(hangdbg_together target alone apart)
  if(NOT HANGDBG_UNITY GREATER 1)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set(groups)
  foreach(source IN LISTS ARGN)
    if(source MATCHES "[.]cpp$" AND NOT (alone AND source MATCHES "${alone}"))
      set(folder)
      if(apart)
        cmake_path(GET source PARENT_PATH folder)
      endif()
      string(MAKE_C_IDENTIFIER "in_${folder}" group)
      list(APPEND groups ${group})
      list(APPEND ${group} ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group IN LISTS groups)
    list(LENGTH ${group} files)
    math(EXPR batches "(${files} + ${HANGDBG_UNITY} / 2) / ${HANGDBG_UNITY}")
    if(batches EQUAL 0)
      set(batches 1)
    endif()
    set(index 0)
    foreach(source IN LISTS ${group})
      math(EXPR batch "${index} * ${batches} / ${files}")  # of equal sizes
      math(EXPR index "${index} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${group}_${batch}")
    endforeach()
  endforeach()
endfunction()
