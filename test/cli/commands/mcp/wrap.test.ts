import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeInto } from '../../support/policy-plane.ts';
import { emptyDirectory, govHere, type Result } from '../../support/tool.ts';

const json = `{
  // ${''}
}`;
const claude = `{
  "mcpServers" : {
    "files": { "command": "npx", "args": [ "-y", "server-filesystem",
        "/srv/Verträge" ], "env": {"A": "1"} },
    "bare":{"command":"crm"},
    "turned": {"args": ["--x"], "env": {}, "command": "run me"},
    "remote": {"type": "http", "url": "https://mcp.example.com/mcp"}
  },
  "other": 1.0
}
`;
const codex = `model = "o5" # not [mcp_servers.fake]
instructions = """
[mcp_servers.text]
command = "no"
"""

[mcp_servers.files]
args = [
  "-y", # always
  'server-filesystem',
]
command = "npx"
startup_timeout_sec = 5

[mcp_servers."my crm"]
command = 'crm'   # ours
[mcp_servers.files.env]
command = "not a command"

[mcp_servers.remote]
url = "https://mcp.example.com/mcp"
`;

const folder = (): {
  cwd: string;
  gov: (line: string) => Promise<Result>;
  read: (name: string) => string;
} => {
  const cwd = emptyDirectory();
  return {
    cwd,
    gov: (line) =>
      govHere(['mcp', 'wrap', ...line.split(' '), '--program', '/opt/gov/bin/gov'], {
        cwd,
        env: { HOME: cwd },
      }),
    read: (name) => readFileSync(join(cwd, name), 'utf8'),
  };
};

describe('mcp wrap', () => {
  it.each([
    ['claude', '.mcp.json', claude],
    ['claude-code', '.mcp.json', claude],
    ['cursor', '.cursor/mcp.json', claude],
    ['gemini', '.gemini/settings.json', claude],
    ['codex', '.codex/config.toml', codex],
    ['claude', '.mcp.json', claude.replaceAll('\n', '\r\n')],
    ['codex', '.codex/config.toml', codex.replaceAll('\n', '\r\n')],
  ])('mcp wrap %s changes %s, and --undo restores every byte', async (client, name, text) => {
    const { cwd, gov, read } = folder();
    writeInto(cwd, name, text);
    expect((await gov(`${client} --dry-run`)).code).toBe(9);
    expect(read(name)).toBe(text);
    const wrapped = await gov(client);
    expect(wrapped).toMatchObject({
      code: 9,
      stderr: expect.stringContaining('remote is not wrapped: it is at https://'),
    });
    expect(read(name)).not.toBe(text);
    expect(read(name)).toContain('/opt/gov/bin/gov');
    // a second time there is nothing to do
    const once = read(name);
    expect((await gov(client)).stdout).toContain('wrapped no server');
    expect(read(name)).toBe(once);
    expect((await gov(`${client} --undo`)).code).toBe(0);
    expect(read(name)).toBe(text);
    expect(existsSync(join(cwd, `${name}.gov-mcp-wrap.json`))).toBe(false);
  });

  it('mcp wrap runs each server of a JSON file through the proxy, under its own name', async () => {
    const { cwd, gov, read } = folder();
    writeInto(cwd, '.mcp.json', claude);
    await gov('claude');
    const { mcpServers, other } = JSON.parse(read('.mcp.json'));
    const proxied = (name: string, ...words: string[]) => ({
      command: '/opt/gov/bin/gov',
      args: ['mcp', 'proxy', '--name', name, '--', ...words],
    });
    expect(mcpServers).toEqual({
      files: { ...proxied('files', 'npx', '-y', 'server-filesystem', '/srv/Verträge'), env: { A: '1' } },
      bare: proxied('bare', 'crm'),
      turned: { ...proxied('turned', 'run me', '--x'), env: {} },
      remote: { type: 'http', url: 'https://mcp.example.com/mcp' },
    });
    expect(other).toBe(1);
  });

  it('mcp wrap edits only the tables of servers in TOML', async () => {
    const { cwd, gov, read } = folder();
    writeInto(cwd, 'c.toml', codex);
    await gov('codex c.toml');
    const program = 'command = "/opt/gov/bin/gov"';
    expect(read('c.toml')).toBe(
      codex
        .replace(
          'args = [\n  "-y", # always\n  \'server-filesystem\',\n]',
          'args = ["mcp", "proxy", "--name", "files", "--", "npx", "-y", "server-filesystem"]',
        )
        .replace('command = "npx"', program)
        .replace("command = 'crm'", `${program}\nargs = ["mcp", "proxy", "--name", "my-crm", "--", "crm"]`),
    );
  });

  it('mcp wrap --dry-run shows the changed lines', async () => {
    const { cwd, gov } = folder();
    writeInto(cwd, '.mcp.json', claude);
    const { stdout } = await gov('claude --dry-run');
    expect(stdout).toContain(
      '-    "bare":{"command":"crm"},\n+    "bare":{"command":"/opt/gov/bin/gov", "args": ["mcp","proxy","--name","bare","--","crm"]},',
    );
  });

  it('mcp wrap covers the projects of Claude Code, and passes a chosen context on', async () => {
    const { cwd, read } = folder();
    writeInto(cwd, '.claude.json', {
      projects: { '/a': { mcpServers: { x: { command: 'x' } } }, '/b': {} },
      mcpServers: {},
    });
    const words = ['mcp', 'wrap', 'claude', '-C', 'plane', '--program', 'gov'];
    expect((await govHere(words, { cwd, env: { HOME: cwd } })).code).toBe(0);
    expect(JSON.parse(read('.claude.json')).projects['/a'].mcpServers.x.args).toEqual([
      'mcp',
      'proxy',
      '-C',
      'plane',
      '--name',
      'x',
      '--',
      'x',
    ]);
  });

  it('mcp wrap --undo keeps later edits, and reports a server that was edited itself', async () => {
    const { cwd, gov, read } = folder();
    writeInto(cwd, '.mcp.json', claude);
    await gov('claude');
    const edited = read('.mcp.json')
      .replace('"other": 1.0', '"other": 2')
      .replace('"--","crm"', '"--","crm2"');
    writeFileSync(join(cwd, '.mcp.json'), edited);
    const { code, stderr } = await gov('claude --undo');
    expect({ code, stderr }).toEqual({
      code: 9,
      stderr: expect.stringContaining('bare was edited after it was wrapped'),
    });
    expect(read('.mcp.json')).toContain('"other": 2');
    expect(JSON.parse(read('.mcp.json')).mcpServers.files.command).toBe('npx');
  });

  it('mcp wrap restores servers of two calls', async () => {
    const { cwd, gov, read } = folder();
    const one = '{"mcpServers":{"b":{"command":"b"}}}';
    writeInto(cwd, '.mcp.json', one);
    await gov('claude');
    const two = read('.mcp.json').replace('{"b"', '{"a":{"command":"a"},"b"');
    writeFileSync(join(cwd, '.mcp.json'), two);
    await gov('claude');
    expect((await gov('claude --undo')).code).toBe(0);
    expect(read('.mcp.json')).toBe(one.replace('{"b"', '{"a":{"command":"a"},"b"'));
  });

  it.each([
    ['JSON with comments', '.mcp.json', 'claude', json],
    ['a list', '.mcp.json', 'claude', '[]'],
    ['a server in an inline table', '.codex/config.toml', 'codex', 'mcp_servers.a = { command = "x" }'],
    ['a command that is no text', '.codex/config.toml', 'codex', '[mcp_servers.a]\ncommand = 5'],
    ['args with other values', '.codex/config.toml', 'codex', '[mcp_servers.a]\ncommand = "a"\nargs = [1]'],
  ])('mcp wrap refuses %s and leaves the file', async (_, name, client, text) => {
    const { cwd, gov, read } = folder();
    writeInto(cwd, name, text);
    expect(await gov(client)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('cannot be edited safely'),
    });
    expect(read(name)).toBe(text);
  });

  it('mcp wrap reports a client that it does not know, a missing file, and nothing to undo', async () => {
    const { cwd, gov } = folder();
    expect((await gov('emacs')).code).toBe(2);
    expect((await gov('claude')).code).toBe(5);
    const { stderr } = await gov('codex');
    expect(stderr.match(/config\.toml/g)).toHaveLength(1);
    writeInto(cwd, '.mcp.json', claude);
    expect((await gov('claude --undo')).code).toBe(2);
  });
});
