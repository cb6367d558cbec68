-- The story of tests/integration/editors/test_clients.py, told by Neovim's nvim-dap: by the
-- functions that a user's keys call.
local story = vim.fn.json_decode(vim.env.HANGDBG_STORY)
local dap = require('dap')

local function wait_for(what, happened)
  if not vim.wait(30000, happened, 20) then
    error(what .. ' has not come')
  end
end

local function ask(command, arguments)
  local failure, answer
  dap.session():request(command, arguments, function(err, body)
    failure, answer = err, body or {}
  end)
  wait_for(command, function() return answer end)
  assert(not failure, vim.inspect(failure))
  return answer
end

-- Whether that thread is the one that the user looks at, and the cursor there.
local function stands_at(thread, line)
  local session = dap.session()
  local frame = session and session.current_frame
  return session and session.stopped_thread_id == thread and frame and frame.line == line
    and vim.fn.line('.') == line and vim.fn.expand('%:p') == story.file
end

local function find(list, name)
  for _, one in ipairs(list) do
    if one.name == name then return one end
  end
end

local function play()
  dap.adapters.hangdbg = { type = 'executable', command = story.program, args = { 'dap' } }
  if story.port ~= vim.NIL then
    dap.adapters.hangdbg = { type = 'server', host = '127.0.0.1', port = story.port }
  end
  dap.defaults.hangdbg.auto_continue_if_many_stopped = false
  dap.run({ type = 'hangdbg', request = 'attach', name = 'hung', processId = story.pid })
  wait_for('the hung thread', function()
    local session = dap.session()
    return session and session.stopped_thread_id == story.thread and session.current_frame
  end)

  local frames = ask('stackTrace', { threadId = story.thread }).stackFrames
  local scope = ask('scopes', { frameId = frames[4].id }).scopes[1]
  local locals = ask('variables', { variablesReference = scope.variablesReference }).variables
  assert(find(locals, story['local'].name).value == story['local'].value)

  -- The hung thread goes on looking as it is; the next that stops is shown.
  dap.continue()
  wait_for('no thread', function() return not dap.session().stopped_thread_id end)
  vim.cmd('edit ' .. story.file)
  vim.fn.cursor(story.line, 1)
  dap.toggle_breakpoint()
  wait_for('a stop', function() return dap.session().stopped_thread_id end)
  local worker = find(ask('threads').threads, story.worker).id
  wait_for('the breakpoint', function() return stands_at(worker, story.line) end)
  dap.step_over()
  wait_for('the step', function() return stands_at(worker, story.nextLine) end)
  dap.clear_breakpoints()
  dap.continue()
  wait_for('no thread', function() return not dap.session().stopped_thread_id end)
  dap.disconnect()
  wait_for('the end', function() return not dap.session() end)
end

local played, failure = pcall(play)
io.stdout:write(played and 'played to its end\n' or tostring(failure) .. '\n')
vim.cmd(played and 'qall!' or 'cquit')
