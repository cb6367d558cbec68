# What is installed, and packed: the program, its manual page, and the shells' halves
# of completion. scripts/package makes packages of it.
#
# HANGDBG_PROGRAM names a program that is already there, stripped: for the wheel, of
# which a compiler then sees nothing (pyproject.toml).
include(GNUInstallDirs)

if(HANGDBG_PROGRAM)
  install(PROGRAMS ${HANGDBG_PROGRAM} DESTINATION ${SKBUILD_SCRIPTS_DIR} RENAME hangdbg)
  return()
endif()
if(SKBUILD)
  install(TARGETS hangdbg DESTINATION ${SKBUILD_SCRIPTS_DIR})
  return()
endif()

# Packing wants the program and its page, not the unit tests.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

set(page ${CMAKE_BINARY_DIR}/hangdbg.1.gz)
add_custom_command(OUTPUT ${page} DEPENDS hangdbg VERBATIM
  COMMAND sh -c "\"$1\" --manual | gzip -9 -n >\"$2\"" - $<TARGET_FILE:hangdbg> ${page})
add_custom_target(manual ALL DEPENDS ${page})

install(TARGETS hangdbg)
install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
set(scripts ${CMAKE_SOURCE_DIR}/client/completion)
install(FILES ${scripts}/hangdbg.bash RENAME hangdbg
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${scripts}/hangdbg.zsh RENAME _hangdbg
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${scripts}/hangdbg.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
