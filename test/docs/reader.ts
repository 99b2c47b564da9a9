/** Follows the commands of a documentation page as its reader does, against a plane of its own. */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { cleanEnv, emptyDirectory, ended, type Result, runner, shell } from '../cli/support/tool.ts';
import { govAtTerminal } from '../cli/support/pty.ts';
import { filesIn, type Page, promisedExit, withoutComment } from './pages.ts';
import { servePlane } from '../real/support/plane.ts';
import { projectRoot } from '../paths.ts';

/** Runs the lines of a page in a folder, and fills in what a reader has to fill in. */
export class Reader {
  readonly folder = emptyDirectory();
  readonly env = { GOV_CONFIG_DIR: join(this.folder, 'config'), XDG_STATE_HOME: join(this.folder, 'state') };
  readonly fill = new Map<string | RegExp, string>();
  #stop: (() => Promise<void>) | undefined;

  async follow(block: string): Promise<Result[]> {
    const results: Result[] = [];
    for (const line of block.split('\n')) {
      if (withoutComment(line) !== '')
        results.push(await this.#line(withoutComment(line), promisedExit(line)));
    }
    return results;
  }

  async #line(line: string, code: number): Promise<Result> {
    const filled = [...this.fill].reduce((text, [gap, value]) => text.replaceAll(gap, value), line);
    const words = filled.split(' ').slice(1);
    if (words.join(' ').startsWith('plane serve')) {
      const dataDir = words[3] ?? '';
      const { stop } = await servePlane(join(this.folder, dataDir), { env: this.env, cwd: this.folder });
      this.#stop = stop;
      return { code: 0, signal: null, stdout: '', stderr: '' };
    }
    // other planes may run on this machine
    const ports = words.join(' ').startsWith('plane init')
      ? ' --listen 127.0.0.1:0 --metrics-listen off'
      : '';
    const result = words.join(' ') === 'events tail' ? await this.#tail() : await this.#run(filled + ports);
    expect(result, filled).toMatchObject({ code, signal: null });
    for (const [id] of result.stdout.matchAll(
      /\b(?:prf|apr|rpl|evt|ers|exp|rex|shr|job|tpl)_[0-9a-z]{26}\b/g,
    )) {
      this.fill.set(`${id.slice(0, 4)}…`, id);
    }
    return result;
  }

  /** The first approval asks for a phrase, at a terminal: the reader takes the offered one. */
  async #run(line: string): Promise<Result> {
    if (!line.startsWith('gov approvals approve')) return this.#shell(line);
    const argv = (line.match(/"[^"]*"|\S+/g) ?? []).slice(1).map((word) => word.replaceAll('"', ''));
    const answers = [['Choose a phrase (Enter: ', '']] as const;
    const { code, text } = await govAtTerminal(argv, { answers, env: this.env, cwd: this.folder });
    return { code, signal: null, stdout: text, stderr: '' };
  }

  #shell = (line: string): Promise<Result> => shell(line, { env: this.env, cwd: this.folder });

  /** Follows until an event comes, then Ctrl-C. */
  async #tail(): Promise<Result> {
    const tail = spawn(process.execPath, [runner, 'events', 'tail'], {
      env: cleanEnv(this.env),
      cwd: this.folder,
    });
    const end = ended(tail);
    const seen = new Promise<boolean>((resolve) => tail.stdout.once('data', () => resolve(true)));
    // a tail shows what is recorded from its beginning on, and does not say when that is
    for (let n = 0; !(await Promise.race([seen, Promise.resolve(false)])); n++) {
      await this.#shell(`gov events push again.ndjson --idempotency-key tail-${n}`);
    }
    tail.kill('SIGINT');
    return { ...(await end), code: 0, signal: null };
  }

  /** Writes the files that the page shows. */
  write(of: Page): void {
    for (const { name, content } of filesIn(of)) {
      mkdirSync(dirname(join(this.folder, name)), { recursive: true });
      writeFileSync(join(this.folder, name), content);
    }
  }

  /** Writes a program that talks to the plane of this reader; its path. */
  writeProgram(program: string): string {
    const { baseUrl } = JSON.parse(readFileSync(join(this.folder, 'my-plane/run.json'), 'utf8')) as {
      baseUrl: string;
    };
    const text = program
      .replaceAll("from 'gov'", `from ${JSON.stringify(join(projectRoot, 'src/client/index.ts'))}`)
      .replaceAll("from 'gov/verify'", `from ${JSON.stringify(join(projectRoot, 'src/client/verify.ts'))}`)
      .replace('http://127.0.0.1:7460/api/v1', baseUrl);
    const file = join(this.folder, 'program.ts');
    writeFileSync(file, text);
    writeFileSync(join(this.folder, 'package.json'), '{"type":"module"}');
    return file;
  }

  /** Runs a program with the operator's key. */
  program(program: string): Promise<Result> {
    const apiKey = readFileSync(join(this.folder, 'my-plane/local.key'), 'utf8').trim();
    const env = cleanEnv({ GOV_API_KEY: apiKey });
    return ended(spawn(process.execPath, [this.writeProgram(program)], { env, cwd: this.folder }));
  }

  /** Stops the plane. */
  async stop(): Promise<void> {
    await this.#stop?.();
    this.#stop = undefined;
  }

  async end(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
