/**
 * `docs/tutorials/hosted-service.md` is followed line by line: the quick start with the development issuer, and two processes on a real
 * PostgreSQL. What a reader types stands there; addresses are free ones, passwords and roles those of the test.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { cleanEnv, emptyDirectory, runner, shell, type Result } from '../cli/support/tool.ts';
import { blocks, page, withoutComment } from './pages.ts';
import { event } from '../support/serving.ts';
import { missing, server } from '../store/postgres/support/described.ts';

/** Follows blocks in a folder, with what the reader's shell exports. */
class Reader {
  readonly folder = emptyDirectory();
  readonly fill = new Map<string, string>();
  readonly serving: { readonly child: ChildProcess; readonly baseUrl: string; readonly issuer: string }[] =
    [];
  readonly #exported = new Map<string, string>();

  get #env(): Record<string, string> {
    const own = { GOV_CONFIG_DIR: join(this.folder, 'config'), XDG_STATE_HOME: join(this.folder, 'state') };
    return { ...own, ...Object.fromEntries(this.#exported) };
  }

  async follow(block: string): Promise<Result[]> {
    const results: Result[] = [];
    for (const line of block.split('\n')) {
      const typed = withoutComment(line);
      if (typed !== '') results.push(await this.#line(typed));
    }
    return results;
  }

  async #line(line: string): Promise<Result> {
    const filled = [...this.fill].reduce((text, [gap, value]) => text.replaceAll(gap, value), line);
    const done: Result = { code: 0, signal: null, stdout: '', stderr: '' };
    const [, name, value] = /^export (\w+)=(.*)$/.exec(filled) ?? [];
    if (name !== undefined && value !== undefined) {
      this.#exported.set(name, value);
      return done;
    }
    if (filled.startsWith('gov service serve')) {
      await this.#serve(filled);
      return done;
    }
    const result = await this.#typed(filled);
    expect(result, filled).toMatchObject({ code: 0, signal: null });
    return result;
  }

  #typed(line: string): Promise<Result> {
    if (line.startsWith('gov auth signup')) return this.#signUp(line);
    // another program may listen at the port of the page
    return this.#run(line.startsWith('gov service doctor') ? `${line} --listen 127.0.0.1:0` : line);
  }

  #run = (line: string): Promise<Result> => shell(line, { env: this.#env, cwd: this.folder });

  async #serve(line: string): Promise<void> {
    const words = line
      .replace(/ --(?:metrics-)?listen \S+/g, '')
      .split(' ')
      .slice(1);
    const own = ['--listen', '127.0.0.1:0', '--metrics-listen', '127.0.0.1:0'];
    const dev = words.includes('--dev-issuer') ? ['--dev-issuer-listen', '127.0.0.1:0'] : [];
    const child = spawn(process.execPath, [runner, ...words, ...own, ...dev], {
      env: cleanEnv(this.#env),
      cwd: this.folder,
    });
    let issuer = '';
    for await (const line of createInterface(child.stderr)) {
      const said = JSON.parse(line) as Record<'msg' | 'baseUrl' | 'issuer', string | undefined>;
      issuer = said.issuer ?? issuer;
      if (said.msg !== 'serving') continue;
      this.serving.push({ child, baseUrl: said.baseUrl ?? '', issuer });
      child.stderr.resume();
      return;
    }
    throw new Error(`expected a service, it ended: ${line}`);
  }

  /** Signs in as the page that is shown asks for. */
  async #signUp(line: string): Promise<Result> {
    const { baseUrl, issuer } = this.serving[0]!;
    const address = line.replace(/--base-url \S+/, `--base-url ${new URL(baseUrl).origin}`);
    const shown = join(this.folder, 'sign-in.txt');
    const signing = this.#run(`${address} 2> ${shown}`);
    const code = /\b[A-Z0-9]{4}-[A-Z0-9]{4}\b/;
    const said = (): string => (existsSync(shown) ? readFileSync(shown, 'utf8') : '');
    await expect.poll(said, { timeout: 20_000 }).toMatch(code);
    const form = new URLSearchParams({ user_code: code.exec(said())?.[0] ?? '', email: 'ada@example.com' });
    await fetch(`${issuer}/sign-in`, { method: 'POST', body: form });
    return signing;
  }

  async end(): Promise<void> {
    for (const { child } of this.serving) {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      expect(await ended).toBe(0);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const service = page('docs/tutorials/hosted-service.md');

describe('docs/tutorials/hosted-service.md', () => {
  it('the quick start of docs/tutorials/hosted-service.md runs line by line', async () => {
    const reader = new Reader();
    writeFileSync(join(reader.folder, 'run.ndjson'), JSON.stringify(event({ runId: 'first' })));
    const [start = '', work = '', ...rest] = blocks(service, 'sh', 'Quick start');
    expect(rest).toEqual([]);
    await reader.follow(start);
    const said = (await reader.follow(work)).map(({ stdout, stderr }) => stdout + stderr).join('\n');
    expect(said).toContain('1 event accepted in 1 run');
    expect(said).toMatch(/^prf_|proofId/m);
    expect(said).toMatch(/audit_event/);
    expect(said).toMatch(/^issuer\twarn\t/m);
    await reader.end();
  }, 120_000);

  describe.skipIf(missing !== null)('on PostgreSQL', () => {
    const suffix = `_${process.pid}`;
    const at = (database: string): string => {
      const url = new URL(server.url);
      url.pathname = `/${database}`;
      return url.href;
    };
    const asked = async (url: string, statements: string): Promise<void> => {
      const client = new Client({ connectionString: url });
      await client.connect();
      for (const statement of statements.split(';').filter((each) => each.trim() !== ''))
        await client.query(statement);
      await client.end();
    };
    afterAll(() =>
      asked(
        at('postgres'),
        `DROP DATABASE gov${suffix} WITH (FORCE); DROP ROLE gov_owner${suffix}; DROP ROLE gov_serving${suffix}`,
      ),
    );

    it('the PostgreSQL part of the hosted-service tutorial runs line by line, up to a second process', async () => {
      const reader = new Reader();
      const [administrator = ''] = blocks(service, 'sql', 'PostgreSQL');
      const own = (text: string): string =>
        text
          .replaceAll(/\bgov_(owner|serving)\b/g, `gov_$1${suffix}`)
          .replace('DATABASE gov ', `DATABASE gov${suffix} `)
          .replaceAll('@127.0.0.1:5432/gov', `@${new URL(server.url).host}/gov${suffix}`)
          .replace(/^gov service migrate\b/m, `gov service migrate --role gov_serving${suffix}`);
      await asked(at('postgres'), own(administrator));
      const [first = '', second = '', ...rest] = blocks(service, 'sh', 'PostgreSQL');
      expect(rest).toEqual([]);
      const said = (await reader.follow(own(first))).map(({ stdout, stderr }) => stdout + stderr).join('\n');
      expect(said).toMatch(/from\t0\n/);
      expect(said).toMatch(/^issuer\twarn\t/m);
      await reader.follow(own(second));
      for (const { baseUrl } of reader.serving) {
        expect((await fetch(`${baseUrl}/health/ready`)).status).toBe(200);
      }
      await reader.end();
    }, 120_000);
  });
});
