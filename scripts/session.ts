/**
 * Records the terminal session that README.md shows: runs its commands in an empty folder and draws what a terminal would
 * show as docs/images/session.svg. `npm run session`, after a build; needs `script` of util-linux.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const project = join(import.meta.dirname, '..');
const columns = 100;

const commands = ['gov quickstart'];

const folder = mkdtempSync(join(tmpdir(), 'gov-session-'));
const env = {
  HOME: folder,
  PATH: `${join(project, 'bin')}:${process.env['PATH']}`,
  TERM: 'xterm-256color',
  GOV_NODE: process.execPath,
};
const options = { cwd: folder, env };

/** The output of one command on a terminal, with its colours. A command may end with another code than 0. */
function onTerminal(command: string): string {
  const text = `stty cols ${columns}; ${command}; true`;
  return execFileSync('script', ['-qec', text, '/dev/null'], { ...options, encoding: 'utf8' });
}

const record = (): string[] =>
  commands.flatMap((command) => {
    // a carriage return begins a line again, as progress does
    const output = onTerminal(command).replaceAll('\r\n', '\n').replace(/^.*\r/gm, '').trim();
    return [`\u001B[1m$ ${command}\u001B[0m`, ...output.split('\n'), ''];
  });

/** Colours of SGR codes (ECMA-48 §8.3.117), on a dark ground. */
const fills: Readonly<Record<number, string>> = {
  31: '#ff7b72',
  32: '#7ee787',
  33: '#e3b341',
  34: '#79c0ff',
  35: '#d2a8ff',
  36: '#76e3ea',
};

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Draws one line of terminal output as SVG text: bold, dim and the colours above. Drops other escapes. */
function drawn(line: string, y: number): string {
  let [fill, weight, opacity] = ['#e6edf3', 'normal', '1'];
  // oxlint-disable-next-line no-control-regex -- escape sequences begin with a control character
  const spans = line.split(/(\u001B\[[\d;?]*[A-Za-z])/).map((part) => {
    // oxlint-disable-next-line no-control-regex
    const codes = /^\u001B\[([\d;]*)m$/.exec(part)?.[1];
    // oxlint-disable-next-line no-control-regex
    if (codes === undefined) return part.startsWith('\u001B') || part === '' ? '' : span(part);
    for (const code of codes.split(';').map(Number)) {
      if (code === 0) [fill, weight, opacity] = ['#e6edf3', 'normal', '1'];
      else if (code === 1) weight = 'bold';
      else if (code === 2) opacity = '0.6';
      else if (code === 22) [weight, opacity] = ['normal', '1'];
      else if (code === 39) fill = '#e6edf3';
      else fill = fills[code] ?? fill;
    }
    return '';
  });
  function span(text: string): string {
    return `<tspan fill="${fill}" font-weight="${weight}" fill-opacity="${opacity}">${escaped(text)}</tspan>`;
  }
  return `<text x="16" y="${y}" xml:space="preserve">${spans.join('')}</text>`;
}

/** A line as a terminal wraps it: escapes take no column, and hold on the next line. */
function wrapped(line: string): string[] {
  const lines = [''];
  let [codes, column] = ['', 0];
  // oxlint-disable-next-line no-control-regex
  for (const part of line.match(/\u001B\[[\d;?]*[A-Za-z]|./gu) ?? []) {
    const isEscape = part.startsWith('\u001B');
    if (isEscape) codes += part;
    else if (column === columns) {
      lines.push(codes);
      column = 0;
    }
    lines[lines.length - 1] += part;
    if (!isEscape) column += 1;
  }
  return lines;
}

function picture(lines: readonly string[]): string {
  const [lineHeight, width] = [19, columns * 8.43 + 32];
  const height = lines.length * lineHeight + 24;
  const text = lines.map((line, at) => drawn(line, 28 + at * lineHeight)).join('\n');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" role="img" aria-label="A terminal session: decide, record, prove, verify, refuse a changed copy">
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">
${text}
</g>
</svg>
`;
}

try {
  writeFileSync(join(project, 'docs/images/session.svg'), picture(record().slice(0, -1).flatMap(wrapped)));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
