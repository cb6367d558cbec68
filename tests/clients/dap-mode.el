;; The story of tests/integration/editors/test_clients.py, told by Emacs' dap-mode: by the
;; commands that a user types. -*- lexical-binding: t -*-
(package-initialize)
(require 'dap-mode)

(setq story (json-parse-string (getenv "HANGDBG_STORY") :object-type 'plist
                               :null-object nil))

(defun of (name &optional from)
  (plist-get (or from story) name))

(defun wait-for (what happened)
  (with-timeout (30 (error "%s has not come" what))
    (let (it)
      (while (not (setq it (funcall happened)))
        (accept-process-output nil 0.02))
      it)))

(defun ask (request &rest arguments)
  (let (answer)
    (dap--send-message (dap--make-request request arguments)
                       (lambda (response) (setq answer response)) session)
    (wait-for request (lambda () answer))
    (unless (gethash "success" answer) (error "%s: %s" request (gethash "message" answer)))
    (gethash "body" answer)))

(defun stands-at (line)
  "Whether the thread that the user looks at stands, and the cursor there."
  (let ((frame (dap--debug-session-active-frame session)))
    (and frame (dap--debug-session-thread-id session) (= (gethash "line" frame) line)
         (= (line-number-at-pos) line) (equal (buffer-file-name) (of :file)))))

(dap-start-debugging-noexpand
 (append (list :type "hangdbg" :request "attach" :name "hung" :processId (of :pid))
         (if (of :port) (list :host "127.0.0.1" :debugServer (of :port))
           (list :dap-server-path (list (of :program) "dap")))))
(setq session (dap--cur-session))

(wait-for "the hung thread" (lambda () (dap--debug-session-active-frame session)))
(unless (= (dap--debug-session-thread-id session) (of :thread)) (error "Another thread"))
(let* ((frames (gethash "stackFrames" (ask "stackTrace" :threadId (of :thread))))
       (scope (car (gethash "scopes" (ask "scopes" :frameId (gethash "id" (nth 3 frames))))))
       (locals (gethash "variables" (ask "variables" :variablesReference
                                         (gethash "variablesReference" scope))))
       (found (seq-find (lambda (one) (equal (gethash "name" one) (of :name (of :local))))
                        locals)))
  (unless (equal (gethash "value" found) (of :value (of :local)))
    (error "The local is %s" (and found (gethash "value" found)))))

;; The hung thread goes on looking as it is; the next that stops is shown.
(dap-continue session (of :thread))
(find-file (of :file))
(goto-char (point-min))
(forward-line (1- (of :line)))
(dap-breakpoint-toggle)
(wait-for "the breakpoint" (lambda () (stands-at (of :line))))
(unless (seq-find (lambda (one) (and (equal (gethash "name" one) (of :worker))
                                     (= (gethash "id" one)
                                        (dap--debug-session-thread-id session))))
                  (gethash "threads" (ask "threads")))
  (error "Another thread has come to it"))
(dap-next session)
(wait-for "the step" (lambda () (stands-at (of :nextLine))))
(goto-char (point-min))
(forward-line (1- (of :line)))
(dap-breakpoint-toggle)
(wait-for "no breakpoint" (lambda () (null (gethash (of :file) (dap--get-breakpoints)))))
(dap-continue session (dap--debug-session-thread-id session))
;; What is still asked when it leaves is answered "cancelled", an error to dap-mode.
(wait-for "each answer"
          (lambda () (ht-empty? (dap--debug-session-response-handlers session))))
(dap-disconnect session)
(wait-for "the end" (lambda () (not (process-live-p (dap--debug-session-proc session)))))
(message "played to its end")
