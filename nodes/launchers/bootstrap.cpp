#include "nodes/launchers/bootstrap.h"

#include <fmt/core.h>

#include <string_view>

#include "base/text.h"
#include "nodes/frames/frame.h"

namespace hangdbg {
namespace {

// All of these are joined to one line: each statement has its own semicolon.

// The same program, wherever it is: in PATH, or where an earlier run kept it,
// unless that is another user's by now (HOME may be theirs). What is sent all
// the same is read: srun ends all nodes if one ends before its input.
constexpr std::string_view kFind = R"sh(
  if [ "$(uname -m)" != x86_64 ]; then
    echo "hangdbg: this node is $(uname -m), and hangdbg for x86_64" >&2;
    exit 1;
  fi;
  c="${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/hangdbg";
  for p in "$(command -v hangdbg)" "$c/$h"; do
    if [ -x "$p" ] && { [ "$p" != "$c/$h" ] || { [ -O "$c" ] && [ -O "$p" ]; }; } &&
      "$p" node --same "$h" </dev/null >/dev/null 2>&1; then
      [ -z "$all" ] || cat >/dev/null;
      exec "$p" node $w "$r";
    fi;
  done;
)sh";

constexpr std::string_view kSayAbsent = R"sh(
  echo "hangdbg: this hangdbg is not in PATH on $(uname -n), and could not be
    kept in $c" >&2;
  exit 4
)sh";

// Behind the node's label, since one launcher may carry many.
constexpr std::string_view kSayNeed = R"sh(
  echo "${SLURMD_NODENAME:-$(uname -n)}: $need";
)sh";

// can_run FOLDER: a program can be written and run there; $f is its name, in
// which the node's is, since nodes may share the folder. (An empty file is run
// as a script; where nothing may be run, that fails.) Its room is taken: by
// fallocate where that is there and the file system can, else by zeros. Over
// them can be written: what holds objects, mounted, may take new files alone.
// folder_in FOLDER: the same, in a new folder $d.
constexpr std::string_view kFunctions = R"sh(
  can_run() {
    mkdir -p "$1" 2>/dev/null;
    f="$1/$h.$(uname -n).$$";
    [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] && (: >"$f") 2>/dev/null &&
    chmod 700 "$f" 2>/dev/null && "$f" 2>/dev/null &&
    { fallocate -l "$n" "$f" 2>/dev/null ||
      head -c "$n" /dev/zero 2>/dev/null >"$f"; } &&
    [ "$(wc -c <"$f")" -ge "$n" ] &&
    head -c 1 /dev/zero 2>/dev/null 1<>"$f" && return 0;
    rm -f "$f" 2>/dev/null;
    f=;
    return 1;
  };
  folder_in() {
    d="$(mktemp -d -p "$1" 2>/dev/null)" && can_run "$d" && return 0;
    [ -z "$d" ] || rmdir "$d" 2>/dev/null;
    d=;
    return 1;
  };
  clean() {
    [ -z "$f" ] || rm -f "$f";
    [ -z "$d" ] || rmdir "$d" 2>/dev/null;
    timeout 10 cat >/dev/null 2>&1;
  };
  f=;
  d=;
  umask 077;
  trap clean EXIT;
  trap "exit 1" HUP INT TERM PIPE;
)sh";

// Written into the room that can_run() has taken, and which nobody else gets
// until then. Kept for the next time, or in a folder that goes with it. One
// that is there by now is never replaced: another node may be running it, from
// the same folder.
constexpr std::string_view kReceive = R"sh(
  k=;
  if can_run "$c"; then
    k=1;
  else
    folder_in "${TMPDIR:-/tmp}" || folder_in /dev/shm ||
    folder_in "${XDG_RUNTIME_DIR:-/run}" || f=;
  fi;
  if [ -n "$f" ]; then
    gzip -dc 1<>"$f" || exit 1;
    if ! "$f" node --same "$h" </dev/null; then
      echo "hangdbg: the program did not arrive whole" >&2;
      exit 1;
    fi;
    if [ -n "$k" ]; then
      ln "$f" "$c/$h" 2>/dev/null || "$c/$h" node --same "$h" </dev/null ||
        mv -f "$f" "$c/$h" || exit 1;
      rm -f "$f";
      trap - EXIT;
      exec "$c/$h" node "$r";
    fi;
    trap - EXIT;
    exec "$f" node --remove "$f" "$r";
  fi;
)sh";

// Where nothing can be written, or nothing that is written can be run.
constexpr std::string_view kInMemory = R"sh(
  for p in python3 python; do
    if command -v "$p" >/dev/null; then
      gzip -dc | "$p" -c "import os,sys,shutil;
        f=os.memfd_create(sys.argv[1],0);
        w=open(f,sys.argv[2],closefd=False);
        shutil.copyfileobj(sys.stdin.buffer,w);
        w.close();
        os.execv(sys.argv[3]+str(f),sys.argv[4:])"
        hangdbg wb /proc/self/fd/ hangdbg node "$r";
      exit;
    fi;
  done;
  if command -v perl >/dev/null; then
    gzip -dc | perl -e '
      my $name = "hangdbg";
      my $f = syscall(319, $name, 0);
      open(my $o, ">&=", $f) or die "hangdbg: memfd_create: $!";
      binmode $o;
      binmode STDIN;
      my $b;
      print $o $b while read(STDIN, $b, 65536);
      $o->flush;
      exec {"/proc/self/fd/$f"} "hangdbg", "node", $ARGV[0];'
      "$r";
    exit;
  fi;
  echo "hangdbg: there is no folder here in which a program can be written and
    run, and neither python3 nor perl to keep it in memory" >&2;
  exit 1;
)sh";

// On one line: some login shells take no line ends within quotes.
std::string on_one_line(std::string_view text) {
  std::string line;
  for (const std::string_view word : split_words(text)) {
    line += fmt::format("{}{}", line.empty() ? "" : " ", word);
  }
  return line;
}

}  // namespace

std::string bootstrap_script(const Bootstrap& bootstrap) {
  const std::string need = frame_line("0", 0, FrameType::Need, bootstrap.hash);
  std::string script =
      fmt::format("h={}; r={}; n={}; w={}; all={}; need={};", bootstrap.hash,
                  shell_quote(bootstrap.request), bootstrap.size,
                  bootstrap.terminal ? "--terminal" : "",
                  bootstrap.if_absent == IfAbsent::ReceiveAll ? "1" : "",
                  shell_quote(trim(need)));
  script += kFind;
  if (bootstrap.if_absent == IfAbsent::SayAbsent) {
    script += kSayAbsent;
    return on_one_line(script);
  }
  script += kSayNeed;
  if (bootstrap.if_absent == IfAbsent::SayNeed) {
    script += "exit 78";
  } else {
    script += kFunctions;
    script += kReceive;
    script += kInMemory;
  }
  return on_one_line(script);
}

}  // namespace hangdbg
