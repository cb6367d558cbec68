/* What the injector (C++, outside) and the bootstrap (C, inside the target)
 * both know: the layout of the region that the stub maps, the table of
 * functions that the injector looked up, and the control channel's records.
 *
 * The region, one mapping of HdRegion::total_size bytes:
 *
 *   base                 image: header, code, constants       read, execute
 *   base + text size     struct HdRegion                       read, write
 *   ... + HD_AGENT_OFFSET   the agent's Python source, ends with a NUL; empty
 *                           once the agent compiled is what runs
 *
 * Plain C, fixed-width types, no padding that matters. */
#ifndef HANGDBG_BOOTSTRAP_SHARED_H
#define HANGDBG_BOOTSTRAP_SHARED_H

#define HD_MAGIC 0x006762646e6168
/* Raised whenever anything in this file changes its meaning. */
#define HD_ABI 13

#ifndef __ASSEMBLER__
#include <stdint.h>

#define HD_CONTROL_THREAD_NAME "hangdbg-ctl"
#define HD_EXECUTOR_THREAD_NAME "hangdbg-exec"
#define HD_CANCEL_THREAD_NAME "hangdbg-cancel"
#define HD_MAX_SESSIONS 8
#define HD_MAX_LEFT 8
#define HD_MAX_HELD 64
#define HD_NO_OFFSET 0xffffffffU

/* At the image's first byte; also how a later hangdbg knows the region. */
struct HdImageHeader {
  uint64_t magic;
  uint32_t abi;
  uint32_t entry; /* hd_first_entry, from the image's start */
  uint32_t image_size;
  uint32_t unused;
};

/* Where the Python source starts, from the start of struct HdRegion: behind
 * the bootstrap's own memory. */
#define HD_AGENT_OFFSET 32768

/* Functions of the target's libc and Python; data symbols where said. */
struct HdApi {
  uint64_t pthread_create;
  uint64_t pthread_join;
  uint64_t pthread_detach;
  uint64_t pthread_attr_init;
  uint64_t pthread_attr_setstacksize;
  uint64_t pthread_self;
  uint64_t munmap;

  uint64_t PyGILState_Ensure;
  uint64_t PyGILState_Release;
  uint64_t PyEval_SaveThread;
  uint64_t PyEval_RestoreThread;
  uint64_t PyEval_GetBuiltins;
  uint64_t PyEval_EvalCode;
  uint64_t Py_CompileStringExFlags;
  uint64_t Py_DecRef;
  uint64_t Py_IncRef;
  uint64_t PyDict_New;
  uint64_t PyDict_Update;
  uint64_t PyDict_Clear;
  uint64_t PyDict_SetItemString;
  uint64_t PyDict_GetItemString;
  uint64_t PyObject_Call;
  uint64_t PyObject_GetAttrString;
  uint64_t PyObject_GetItem;
  uint64_t PyObject_SetItem;
  uint64_t PyObject_DelItem;
  uint64_t PyTuple_New;
  uint64_t PyTuple_SetItem;
  uint64_t PyTuple_GetItem;
  uint64_t PyTuple_Size;
  uint64_t PyLong_FromLong;
  uint64_t PyLong_AsUnsignedLongMask;
  uint64_t PyBytes_FromStringAndSize;
  uint64_t PyBytes_AsStringAndSize;
  uint64_t PyUnicode_FromString;
  uint64_t PyCFunction_NewEx;
  uint64_t PyObject_GC_UnTrack;
  uint64_t PyErr_Clear;
  uint64_t PyErr_Fetch;
  uint64_t PyErr_Restore;
  uint64_t PyObject_Str;
  uint64_t PyUnicode_AsUTF8;
  uint64_t PyErr_SetString;
  uint64_t PyThreadState_SetAsyncExc;
  uint64_t PyEval_SetTrace;
  uint64_t PyEval_SetProfile;
  uint64_t PySys_GetObject;
  uint64_t none;          /* data: &_Py_NoneStruct */
  uint64_t runtime_error; /* data: &PyExc_RuntimeError */
  uint64_t recursion_error;

  /* May be 0. */
  uint64_t PyMarshal_ReadObjectFromString;
  uint64_t PyImport_GetMagicNumber;
  uint64_t PyFrame_LocalsToFast;
  uint64_t Py_GetRecursionLimit; /* 0 as well where the stack needs no guard */
  uint64_t is_finalizing;        /* Py_IsFinalizing or _Py_IsFinalizing */
  uint64_t gil_locked;     /* data: the int that is 1 while the GIL is held */
  uint64_t Py_REFCNT;      /* from 3.14 on */
  uint64_t errno_location; /* __errno_location */

  /* glibc's, around what no fork may come into; either may be 0. */
  uint64_t lock_file_list;   /* _IO_list_lock */
  uint64_t unlock_file_list; /* _IO_list_unlock */
  uint64_t PyThreadState_EnterTracing;
  uint64_t PyThreadState_LeaveTracing;

  /* Of a free-threaded build all, else none: see pause.c. */
  uint64_t stop_the_world;  /* _PyEval_StopTheWorld */
  uint64_t start_the_world; /* _PyEval_StartTheWorld */
  uint64_t PyInterpreterState_Get;
  uint64_t PyList_New;
  uint64_t PyList_Append;
  uint64_t PyFrame_GetBack;
  uint64_t PyFrame_GetCode; /* of others from 3.9 on; before, frame_code */
  uint64_t PyFrame_GetGlobals;
  uint64_t PyFrame_GetLasti;
  uint64_t PyFrame_GetLocals;
  uint64_t PyThreadState_Delete;
  uint64_t PyCapsule_New; /* see probes.c */
  uint64_t PyCapsule_GetPointer;

  /* For thread states of our own; any of them may be 0. */
  uint64_t PyInterpreterState_Main;
  uint64_t PyThreadState_New;
  uint64_t PyThreadState_Clear;
  uint64_t PyThreadState_DeleteCurrent;
  uint64_t PyEval_AcquireThread;
  uint64_t PyGC_Disable; /* both of 3.11 alone: see cancel.c */
  uint64_t PyGC_Enable;
  uint64_t PyThreadState_GetFrame; /* from 3.9 on; before, thread_frame */
  uint64_t interpreters_head;      /* data: the first PyInterpreterState * */
  /* Offsets in PyInterpreterState, PyThreadState, and of the locked word in a
   * GIL. interpreter_gil is HD_NO_OFFSET where all interpreters share one. */
  uint32_t interpreter_next;
  uint32_t interpreter_id;
  uint32_t interpreter_threads;
  uint32_t interpreter_gil;
  uint32_t gil_locked_offset;
  uint32_t thread_next;
  uint32_t thread_ident;
  uint32_t thread_frame;
  /* What leads to a thread's frames: the first of them, or a pointer to it
   * (3.11 and 3.12, struct _PyCFrame). */
  uint32_t thread_frames;
  uint32_t frames_are_behind;

  /* For breakpoints, from 3.7 to 3.11; else thread_tracer is HD_NO_OFFSET. */
  uint64_t PyThreadState_Get;
  uint64_t PyThreadState_Next;
  uint64_t PyInterpreterState_ThreadHead;
  uint64_t PyFrame_GetLineNumber;
  uint64_t get_evaluator;     /* _PyInterpreterState_GetEvalFrameFunc, 3.9 */
  uint64_t set_evaluator;     /* _PyInterpreterState_SetEvalFrameFunc, 3.9 */
  uint64_t default_evaluator; /* _PyEval_EvalFrameDefault */
  /* Offsets: of the evaluator in PyInterpreterState, where it has no setter; in
   * PyThreadState; in what the evaluator is given, and in its code. */
  uint32_t interpreter_evaluator;
  uint32_t thread_cframe;
  uint32_t cframe_current_frame;
  uint32_t thread_tracing;
  uint32_t thread_tracer;
  uint32_t thread_tracer_object;
  /* Whether a thread is traced: behind a pointer from 3.10 on, and what says
   * yes; and how many threads are, an int at that address (3.7 and 3.8) or in
   * the interpreter (3.9). */
  uint32_t thread_use_tracing;
  uint32_t use_tracing_is_behind;
  uint32_t use_tracing_on;
  uint32_t thread_interpreter;
  uint32_t interpreter_tracing_possible; /* or HD_NO_OFFSET */
  uint64_t tracing_possible;             /* or 0 */
  /* char: it is past the limit of the recursion; 3.7 to 3.9 */
  uint32_t thread_overflowed;
  uint32_t frame_previous;
  uint32_t frame_code;
  uint32_t code_filename;
  uint32_t code_first_line;

  /* Offsets of the f_locals snapshot: PyFrameObject -> (through the pointer at
   * frame_inner, unless HD_NO_OFFSET) -> frame_locals. Both HD_NO_OFFSET from
   * 3.13 on, where f_locals is no snapshot. */
  uint32_t frame_inner;
  uint32_t frame_locals;

  /* For cancel.c. Bits, by an instruction's number: it calls; ends a loop's
   * round; is there only in functions with a `try` or a `with`; from 3.14 on,
   * only in those with a `with`, which calls what takes a lock as any function.
   * And from 3.11 on a function's first, else no instruction's. */
  uint64_t call_opcodes[4];
  uint64_t loop_opcodes[4];
  uint64_t try_opcodes[4];
  uint64_t with_opcodes[4];
  uint32_t first_opcode;
  uint32_t cancels_anywhere; /* up to 3.9 */
  uint32_t cancels_later;    /* from 3.13 on */
};

/* Where a joining client finds its ends of its two channels. With sockets,
 * each pair is the same number twice; with pipes they are four, to be opened
 * through /proc/PID/fd. */
struct HdOffer {
  uint32_t nonce; /* the client's own number; written last, 0 before the
                     descriptors are closed */
  int32_t error;  /* 0, or a negative errno: then there are no channels */
  int32_t control_read;
  int32_t control_write;
  int32_t dap_read;
  int32_t dap_write;
};

enum HdStage {
  HD_STAGE_STARTING = 0,
  HD_STAGE_SERVING = 1,
  HD_STAGE_CLOSING = 2, /* the last client has gone; join no more */
  HD_STAGE_CLOSED = 3,  /* the rendezvous pipe has no reader any more */
};

/* Whether the region stays for threads of the program: those with frames of our
 * evaluator, and those that may have been sent to a place when their client
 * died. */
enum HdStays {
  HD_GOES = 0,
  HD_STAYS = 1,
  HD_STAYS_ALONE = 2, /* for nothing else, and no thread of ours is there */
};

/* What the target's seccomp filter, or ours, keeps us from. */
enum HdForbidden {
  HD_FORBIDS_SOCKETS = 1, /* pipes in their place */
  HD_FORBIDS_YIELD = 2,
  HD_FORBIDS_READ_SELF = 4, /* process_vm_readv */
  HD_FORBIDS_OPEN = 8,
  HD_FORBIDS_DROP = 16,  /* madvise */
  HD_FORBIDS_CLOCK = 32, /* prctl(PR_SET_TSC) */
  HD_FORBIDS_STOPS = 64, /* what a thread of the program's does as it stands */
};

struct HdRegion {
  uint64_t magic;
  uint64_t total_size;
  uint32_t forbidden;   /* enum HdForbidden, one or more */
  uint32_t first_nonce; /* whose injection this was */
  uint32_t stage;       /* enum HdStage */
  uint32_t refused;     /* the last nonce that found no place */
  uint32_t code_offset; /* the agent compiled, from the start of this struct */
  uint32_t code_size;   /* 0: only the source is there */
  uint32_t code_magic;  /* of the interpreters that can read it */
  int32_t control_tid;
  int32_t rendezvous; /* a pipe's writing end, for HdRendezvousRecord; -1 at
                         first */
  uint64_t
      rendezvous_inode; /* the program may have closed it and used its number */
  uint64_t libc_signals; /* a mask: those that the libc keeps for itself */
  /* Regions of agents that have gone, but were on a stack of the program's: the
   * addresses of their images; 0 none. */
  uint64_t left[HD_MAX_LEFT];
  /* The threads that may still come, of a region that has stayed: by the
   * numbers that the program has for them; 0 none. */
  int32_t lost[HD_MAX_HELD];
  uint32_t stays; /* enum HdStays */
  uint32_t unused;
  struct HdApi api;
  struct HdOffer offers[HD_MAX_SESSIONS];
  /* The bootstrap's own memory follows; see bootstrap.h. */
};

/* Written to the rendezvous pipe in one write(2), which a pipe keeps whole. */
struct HdRendezvousRecord {
  uint32_t kind; /* enum HdDoorKind */
  uint32_t value;
};
enum HdDoorKind {
  HD_RECORD_JOIN = 1,        /* value: nonce */
  HD_RECORD_THREAD_DONE = 2, /* from within: control is to look what is due */
};

/* The control channel, both ways. */
struct HdControlRecord {
  uint32_t kind; /* enum HdControlKind */
  uint32_t value;
};
enum HdControlKind {
  /* To the agent. */
  HD_CONTROL_HELLO = 1,       /* value: HD_ABI; the first record of a client */
  HD_CONTROL_STATUS = 2,      /* asks for HD_CONTROL_STAGE */
  HD_CONTROL_ENTER_NOW = 3,   /* for the next moment (HD_ENTER_NOW_NS), wait for
                                 the GIL by a blocking acquire: its holder runs
                                 Python; or   all threads, where there is none.
                                 value: for   which message, from 1 on */
  HD_CONTROL_CANCEL = 4,      /* the evaluation of a message, also before it has
                                 begun. value: which message, from 1 on */
  HD_CONTROL_INTERPRETER = 7, /* value: in which the next requests run */
  HD_CONTROL_GIVE_UP = 8,     /* a cancelled evaluation that does not react: the
                                 next messages are not to wait for it. Asks for
                                 HD_CONTROL_GIVEN_UP. value: which message */
  /* From the agent. */
  HD_CONTROL_STAGE = 5,    /* value: enum HdExecutorStage */
  HD_CONTROL_ERROR = 6,    /* value: errno; the session cannot start */
  HD_CONTROL_GIVEN_UP = 9, /* value: 1, or 0 where that is not possible now */
};

#define HD_ENTER_NOW_NS 100000000L

enum HdExecutorStage {
  HD_EXECUTOR_IDLE = 0,        /* waits for a message */
  HD_EXECUTOR_WATCHES_GIL = 1, /* has one; waits until the GIL is free */
  HD_EXECUTOR_TAKES_GIL = 2,   /* in PyGILState_Ensure */
  HD_EXECUTOR_IN_PYTHON = 3,   /* runs the agent */
  HD_EXECUTOR_REPLIES = 4,     /* writes the answer */
};

#endif
#endif
