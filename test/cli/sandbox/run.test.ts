import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { starters } from '../../../src/cli/policies/starters.ts';
import { isObject } from '../../../src/core/json/object.ts';
import { startPolicyPlane, type PolicyPlane } from '../support/policy-plane.ts';
import { cleanEnv, ended, runner, type Result } from '../support/tool.ts';
import { whyNotSandboxed } from './possible.ts';

const noSandbox = whyNotSandboxed();
const policies = ['guard-the-guard', 'no-secrets', 'only-these-hosts', 'spending-limit'];

interface Event {
  readonly eventType: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

describe.skipIf(noSandbox !== null)(
  `gov run --sandbox${noSandbox === null ? '' : ` (skipped: ${noSandbox})`}`,
  () => {
    // not below /dev/shm, which a sandbox does not have
    const folder = mkdtempSync('/tmp/gov-sandbox-');
    const home = join(folder, 'home');
    const app = join(folder, 'app');
    let plane: PolicyPlane;
    const server = createServer((request, response) => response.end(`got ${request.url}`));
    let port = 0;

    beforeAll(async () => {
      mkdirSync(join(home, '.ssh'), { recursive: true });
      mkdirSync(join(home, '.claude/skills/s'), { recursive: true });
      mkdirSync(join(app, '.git/hooks'), { recursive: true });
      mkdirSync(join(app, 'deep'));
      for (const [path, content] of [
        ['home/.ssh/id_ed25519', 'KEY OF SSH'],
        ['home/.claude/settings.json', '{"hooks":{}}'],
        ['home/.claude/.credentials.json', '{"login":1}'],
        ['home/.claude/skills/s/SKILL.md', 'skill'],
        ['home/.bashrc', ''],
        ['app/.env', 'KEY OF APP'],
        ['app/deep/server.pem', 'KEY OF SERVER'],
        ['app/.git/config', ''],
      ] as const)
        writeFileSync(join(folder, path), `${content}\n`);
      plane = await startPolicyPlane();
      for (const id of policies) {
        plane.write(`${id}.policy`, starters.find((each) => each.id === id)?.text);
        await plane.json(`policy create ${id}.policy`);
        await plane.json(`policy publish ${id} --yes`);
      }
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
      const address = server.address();
      port = typeof address === 'object' && address !== null ? address.port : 0;
    });
    afterAll(async () => {
      server.close();
      await plane.end();
      rmSync(folder, { recursive: true, force: true });
    });

    const run = (words: readonly string[], env: Record<string, string> = {}): Promise<Result> => {
      const child = spawn(process.execPath, [runner, 'run', '--prove', 'no', ...words], {
        env: cleanEnv({ GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key, HOME: home, ...env }),
        cwd: app,
      });
      child.stdin.end();
      return ended(child);
    };
    const inside = (runId: string, line: string, flags: readonly string[] = []): Promise<Result> =>
      run(['--sandbox', '--run', runId, ...flags, '--', '/bin/sh', '-c', line]);
    const eventsOf = async (runId: string): Promise<Event[]> =>
      (await plane.json(`events list --run ${runId}`)).events;

    it('hides keys, also deep in the workspace, and shows the other files', async () => {
      const { stdout, code } = await inside(
        'b1',
        'cat $HOME/.ssh/id_ed25519 .env deep/server.pem; ls -A $HOME/.ssh; cat .git/config && echo read; echo new > new.txt; cat new.txt; exit 3',
      );
      expect([code, stdout]).toEqual([3, '\nread\nnew\n']);
      expect(existsSync(join(app, 'new.txt'))).toBe(true);
    });

    it('holds closed what agents, shells and git run, also where it does not exist, and leaves nothing behind', async () => {
      const before = readdirSync(app);
      const { stdout } = await inside(
        'b2',
        `for f in .git/hooks/pre-commit .git/config .mcp.json .claude/settings.json .codex/config.toml $HOME/.bashrc $HOME/.claude/settings.json $HOME/.config/gov/x /etc/x /proc/sys/kernel/core_pattern; do
          if echo x 2>/dev/null >> $f; then echo wrote $f; fi; done
        mv .git .moved; mv $HOME/.ssh $HOME/moved; mv .claude moved; rm -rf .mcp.json; ln -s /etc .gemini/x; unshare -Urm umount .git/hooks; true`,
      );
      expect(stdout).toBe('');
      expect(readdirSync(app)).toEqual(before);
    });

    it('has a host decided at each connection, and no other way out', async () => {
      const { stdout } = await inside(
        'b3',
        `node() { "${process.execPath}" -e "$1"; }
        node 'require("http").get({ host: "127.0.0.1", port: new URL(process.env.HTTP_PROXY).port, path: "http://example.com/" }, (r) => r.on("data", (d) => console.log(r.statusCode, String(d).slice(0, 40))))'
        node 'fetch("https://example.com/").catch((e) => console.log("refused"))'
        node 'require("net").connect(53, "1.1.1.1").on("error", (e) => console.log(e.code))'
        node 'fetch("http://127.0.0.1:${port}/x").catch(() => console.log("own loopback"))'`,
      );
      expect(stdout).toContain('403 gov: policy only-these-hosts');
      expect(stdout).toContain('refused');
      expect(stdout).toContain('ENETUNREACH');
      expect(stdout).toContain('own loopback');
      const connects = (await eventsOf('b3')).filter(({ eventType }) => eventType === 'x.kernel.connect');
      expect(connects.map(({ metadata }) => metadata)).toEqual([
        {
          recordedBy: 'kernel',
          'gov.statedBy': expect.stringMatching(/^key_/),
          host: 'example.com',
          port: 80,
          decision: 'deny',
          decidedBy: expect.stringMatching(/^pev_/),
        },
        {
          recordedBy: 'kernel',
          'gov.statedBy': expect.stringMatching(/^key_/),
          host: 'example.com',
          port: 443,
          decision: 'deny',
          decidedBy: expect.stringMatching(/^pev_/),
        },
      ]);
    });

    it('a port of this machine that the user names is reached, and decided', async () => {
      const line = `"${process.execPath}" -e 'fetch("http://127.0.0.1:${port}/x").then(async (r) => console.log(await r.text()))'`;
      expect((await inside('b4', line, ['--port', String(port)])).stdout).toBe('got /x\n');
      expect(
        (await eventsOf('b4')).find(({ eventType }) => eventType === 'x.kernel.connect')?.metadata,
      ).toMatchObject({
        host: '127.0.0.1',
        port,
        decision: 'allow',
      });
    });

    it('the program reaches the plane with its token', async () => {
      const program = `fetch(process.env.OTEL_EXPORTER_OTLP_ENDPOINT.replace('/otlp', '/events'), { method: 'POST',
        headers: { authorization: 'Bearer ' + process.env.GOV_API_KEY, 'content-type': 'application/json' },
        body: JSON.stringify({ runId: 'b5', eventType: 'note', actor: 'a', action: 'write', timestamp: new Date().toISOString() }) })
        .then(({ status }) => console.log(status))`;
      const { stdout } = await run(['--sandbox', '--run', 'b5', '--', process.execPath, '-e', program]);
      expect(stdout).toBe('201\n');
    });

    it('a hook inside leads from the run to the one of its session, where its decisions are', async () => {
      const own = join(home, '.config/gov');
      const [config, keyFile] = [join(own, 'agents.json'), join(own, 'agent.key')];
      mkdirSync(own, { recursive: true });
      writeFileSync(keyFile, plane.key, { mode: 0o600 });
      writeFileSync(config, JSON.stringify({ baseUrl: plane.baseUrl, keyFile }));
      const call = { session_id: 'b5-session', hook_event_name: 'PreToolUse', cwd: app, tool_name: 'Bash' };
      const input = JSON.stringify({ ...call, tool_input: { command: 'ls' }, tool_use_id: 't' });
      const line = `echo '${input}' | "${process.execPath}" "${runner}" hook claude-code --config ${config}`;
      const words = ['--sandbox', '--run', 'b5-hook', '--', '/bin/sh', '-c', line];
      expect(await run(words, { GOV_CONFIG_DIR: own })).toMatchObject({
        stdout: '{}\n',
        stderr: '',
        code: 0,
      });
      const links = (await eventsOf('b5-hook')).filter(({ eventType }) => eventType === 'run.linked');
      expect(links.map(({ metadata }) => metadata)).toEqual([
        { recordedBy: 'hook', client: 'claude-code', run: 'b5-session' },
      ]);
      expect(JSON.parse(readFileSync(config, 'utf8'))).toEqual({ baseUrl: plane.baseUrl, keyFile });
    });

    it('records the lists, each program with its decision, and what the kernel does not enforce', async () => {
      await inside('b6', '/bin/cat .env; true');
      const events = await eventsOf('b6');
      const started = events.find(({ eventType }) => eventType === 'sandbox.started');
      expect(started?.metadata).toMatchObject({
        recordedBy: 'kernel',
        engine: expect.stringContaining('bubblewrap'),
        denyRead: expect.arrayContaining([join(home, '.ssh'), join(app, '.env')]),
        denyWrite: expect.arrayContaining([join(app, '.claude'), join(app, '.git/hooks')]),
        allowWrite: expect.arrayContaining([app, '/tmp']),
        notEnforced: expect.arrayContaining([
          { policyId: 'spending-limit', reads: expect.arrayContaining([expect.stringContaining('money')]) },
        ]),
      });
      const enforced = started?.metadata['notEnforced'];
      expect(JSON.stringify(enforced)).not.toContain('only-these-hosts');
      const programs = events
        .filter(({ eventType }) => eventType === 'x.kernel.exec')
        .map(({ metadata }) => metadata);
      expect(programs).toEqual([
        expect.objectContaining({ path: '/bin/sh', argv: ['/bin/sh', '-c', '/bin/cat .env; true'] }),
        {
          recordedBy: 'kernel',
          'gov.statedBy': expect.stringMatching(/^key_/),
          pid: expect.any(Number),
          ppid: programs[0]?.['pid'],
          path: '/bin/cat',
          argv: ['/bin/cat', '.env'],
          decision: 'deny',
          policies: ['no-secrets'],
        },
      ]);
      expect(events.at(-1)?.eventType).toBe('run.ended');
    });

    it('a client gets its login and its skills, writes into a folder of the run, and cannot change its settings', async () => {
      const { stdout } = await inside(
        'b7',
        'cd "$CLAUDE_CONFIG_DIR" && cat .credentials.json skills/s/SKILL.md settings.json; echo t > transcript; echo x 2>/dev/null > settings.json; rm -f settings.json 2>/dev/null; cat settings.json',
      );
      expect(stdout).toBe('{"login":1}\nskill\n{"hooks":{}}\n{"hooks":{}}\n');
      expect(existsSync(join(home, '.claude/transcript'))).toBe(false);
      const started = (await eventsOf('b7')).find(({ eventType }) => eventType === 'sandbox.started');
      const folders = started?.metadata['clientFolders'];
      const { claude } = isObject(folders) ? folders : {};
      // the login was not renewed, so its copy is gone
      expect(readdirSync(String(claude)).toSorted()).toEqual(['settings.json', 'skills', 'transcript']);
    });

    it('a sandbox ends with gov, also a program that ignores signals', async () => {
      const line = `trap "" TERM HUP INT; echo up; while :; do :; done`;
      const words = ['run', '--prove', 'no', '--sandbox', '--run', 'b8', '--', '/bin/sh', '-c', line];
      const child = spawn(process.execPath, [runner, ...words], {
        env: cleanEnv({ GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key, HOME: home }),
        cwd: app,
      });
      child.stdout.once('data', () => child.kill('SIGKILL'));
      // its streams close when the last process that has them is gone
      expect(await ended(child)).toMatchObject({ signal: 'SIGKILL', stdout: 'up\n' });
      for (const name of readdirSync(app).filter((each) =>
        /^\.(?:claude|codex|gemini|cursor|opencode|mcp)/.test(each),
      ))
        rmSync(join(app, name), { recursive: true });
    });

    it('says what it expected, what came and what to do where a system allows no sandbox', async () => {
      const again = `"${process.execPath}" "${runner}" run --sandbox --prove no -- /bin/true`;
      const nested = await inside('b8-nested', again);
      expect([nested.code, nested.stderr]).toEqual([
        126,
        expect.stringContaining('start gov outside of any other sandbox'),
      ]);
      expect(nested.stderr).toMatch(
        /expected Linux 5.5 or newer that allows gov-watch a seccomp filter, got: gov-watch: /,
      );
      const forbidden = [
        '--unshare-user',
        '--disable-userns',
        '--bind',
        '/',
        '/',
        '--dev',
        '/dev',
        '--proc',
        '/proc',
      ];
      const child = spawn('bwrap', [...forbidden, '/bin/sh', '-c', again], {
        env: cleanEnv({ GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key, HOME: home }),
        cwd: app,
      });
      const { code, stderr } = await ended(child);
      expect([code, stderr]).toEqual([
        126,
        expect.stringMatching(/expected bwrap to (?:mount|make) .*, got: bwrap: .*\n.*--security-opt/),
      ]);
    });

    it('nothing starts without bwrap, beside a link that a program could replace, or with --fail open', async () => {
      const started = join(app, 'started');
      const touch = ['--', '/bin/sh', '-c', `echo x > ${started}`];
      const none = await run(['--sandbox', ...touch], { PATH: folder });
      expect([none.code, none.stderr]).toEqual([126, expect.stringContaining('apt install bubblewrap')]);
      symlinkSync('/etc', join(app, '.codex'));
      const linked = await run(['--sandbox', '--run', 'b9', ...touch]);
      unlinkSync(join(app, '.codex'));
      expect([linked.code, linked.stderr]).toEqual([
        2,
        expect.stringContaining(`${join(app, '.codex')}: expected no link`),
      ]);
      const [begun, end] = await eventsOf('b9');
      expect([begun?.eventType, end?.eventType, end?.metadata['exitCode']]).toEqual([
        'run.started',
        'run.ended',
        126,
      ]);
      expect((await run(['--sandbox', '--fail', 'open', ...touch])).code).toBe(2);
      expect((await run(['--port', '80', ...touch])).code).toBe(2);
      expect((await run(['--sandbox', '--port', '65536', ...touch])).code).toBe(2);
      expect((await run(['--sandbox', '--port', '1', '--port', '2', '--port', '3', ...touch])).code).toBe(2);
      expect(existsSync(started)).toBe(false);
    });
  },
);
