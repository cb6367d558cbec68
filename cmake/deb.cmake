# The .deb, by CPack (cpack --config build/CPackConfig.cmake). dpkg's tools are not
# needed to build the rest.
set(HANGDBG_MAINTAINER "the hangdbg authors <hangdbg@packages.invalid>" CACHE STRING
  "Who answers for the .deb")
set(folder ${CMAKE_BINARY_DIR}/deb)
set(docs ${CMAKE_INSTALL_DATADIR}/doc/hangdbg)

# Whose licences: scripts/package has put them there, with the bill of materials.
install(FILES ${folder}/copyright ${folder}/changelog.gz DESTINATION ${docs} COMPONENT deb OPTIONAL)
install(FILES ${folder}/lintian-overrides RENAME hangdbg
  DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides COMPONENT deb OPTIONAL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hangdbg)
set(CPACK_PACKAGE_CONTACT "${HANGDBG_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
  GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "debugger for Python processes that hang
hangdbg attaches to a Python process that is blocked in a lock, in recv
or in a loop around sleep, asks the hung frame any expression, and leaves;
the process goes on as if nobody had been there. It shows all stacks from
outside, asks all ranks of a parallel job at once, and serves editors by
the Debug Adapter Protocol.")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
include(CPack)
