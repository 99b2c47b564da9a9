import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { withDigests } from '../../../src/core/action/large-content.ts';
import { sha256Text } from '../../../src/core/hash.ts';
import { pathsIn, toolAction } from './shell-lines.ts';

const most = 'x'.repeat(limits.toolContentBytes);

describe('large contents in arguments', () => {
  it('a content above the limit is replaced by its hash', () => {
    const given = { file_path: '/x', content: `${most}y` };
    expect(withDigests('claude-code', 'Write', { file_path: '/x', content: most })).toEqual({
      file_path: '/x',
      content: most,
    });
    expect(withDigests('claude-code', 'Write', given)).toEqual({
      file_path: '/x',
      content: { $digest: sha256Text(given.content), bytes: limits.toolContentBytes + 1 },
    });
  });

  it('counts bytes, and looks into lists', () => {
    const edits = [{ old_string: 'ü'.repeat(limits.toolContentBytes / 2 + 1), new_string: 'ü' }];
    expect(withDigests('claude-code', 'MultiEdit', { file_path: '/x', edits })).toMatchObject({
      edits: [{ old_string: { bytes: limits.toolContentBytes + 2 }, new_string: 'ü' }],
    });
  });

  it('a patch keeps the lines that name files, so its action stays', () => {
    const command = `*** Begin Patch\n*** Add File: a\n+${most}\n*** Delete File: ../b\n*** End Patch`;
    const sent = withDigests('codex', 'apply_patch', { command });
    expect(sent).toMatchObject({ command: { lines: ['*** Add File: a', '*** Delete File: ../b'] } });
    expect(pathsIn(toolAction('codex', 'apply_patch', sent))).toEqual(['write /w/app/a', 'delete /w/b']);
    expect(toolAction('codex', 'apply_patch', sent)).toEqual(toolAction('codex', 'apply_patch', { command }));
  });

  it.each([
    ['claude-code', 'Bash'],
    ['claude-code', 'Unknown'],
    ['another', 'Write'],
  ])('the arguments of %s: %s stay', (client, tool) => {
    expect(withDigests(client, tool, { command: `${most}y` })).toEqual({ command: `${most}y` });
  });
});
