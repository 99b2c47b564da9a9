import { describe, expect, it } from 'vitest';
import { lint } from '../../../../src/core/policies/lint/check.ts';
import { parseText } from '../../../../src/core/policies/language/text.ts';

const hints = (text: string, action: 'deny' | 'escalate' | 'warn' = 'deny'): string[] =>
  lint(parseText(text), { action })
    .filter(({ code }) => code === 'text_for_action')
    .map(({ detail }) => detail);

describe('lint of texts where an action says more', () => {
  it.each([
    ['"rm " in arguments.command', 'write some(action.commands, @.program == "rm")'],
    ['some(programs(arguments.command), @ == "rm")', 'got the text of context.arguments.command'],
    ['starts_with(fold(arguments.cmd), "rm")', 'got the text of context.arguments.cmd'],
    ['path_in(arguments.file_path, ["/etc"])', 'write some(action.paths'],
    ['host(arguments.url) == "e.org"', 'write some(action.hosts'],
    ['tool.name == "Bash"', '"Bash", a tool of claude-code, codex alone'],
    [
      'fold(tool.name) in ["shell", "Bash"]',
      'a tool of codex alone: other clients name it differently; write action.kind == "shell"',
    ],
    ['fold(tool.name) == "multiedit"', '"multiedit", a tool of claude-code alone'],
    ['lower(tool.name) == "webfetch"', '"webfetch", a tool of opencode alone'],
    ['tool.name in ["Bash ", "x"]', '"Bash ", a tool of claude-code, codex alone'],
    ['client == "claude-code"', 'got the client "claude-code"'],
    ['fold(facts.client.name) in ["x", "Codex "]', 'got the client "Codex "'],
    ['fold(arguments.command) == "rm x "', 'got the text of context.arguments.command'],
    ['bare(tool.name) == "read_file"', 'write action.kind == "read"'],
  ])('lint hints at %s', (text, hint) => {
    expect(hints(text)).toEqual([expect.stringContaining(hint)]);
  });

  it.each([
    'some(action.commands, @.program == "rm")',
    'tool.name == "pay"',
    'tool.server == "Bash"',
    'client == "mine"',
    'tool.name == "claude-code"',
    'arguments.amount > 5',
    'arguments.command.x == 1',
  ])('lint hints at nothing in %s', (text) => {
    expect(hints(text)).toEqual([]);
  });

  it('lint hints at no text in a rule that warns', () => {
    expect(hints('tool.name == "Bash"', 'warn')).toEqual([]);
  });
});
