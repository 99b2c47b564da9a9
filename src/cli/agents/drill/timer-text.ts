/**
 * What the schedulers read: units of systemd.timer(5), a property list of launchd.plist(5), lines of crontab(5).
 * Tested by `test/cli/agents/timer.test.ts`.
 */
import { hash } from 'node:crypto';
import { quotedWord } from '../../../core/shell-word.ts';

export interface DrillTimer {
  readonly everyMs: number;
  readonly words: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** Spreads the machines of a site over the hour. */
  readonly machine: string;
}

const hourMs = 3_600_000;
const title = 'Test that gov stops a forbidden call of each agent';

/** The user manager starts the timer after each boot, so a machine that was off makes up for it. */
export function systemdUnits({ everyMs, words, variables }: DrillTimer): {
  readonly service: string;
  readonly timer: string;
} {
  const environment = Object.entries(variables).map(
    ([name, value]) => `Environment=${unitWord(`${name}=${value}`)}`,
  );
  // only a command line has variables, so only there is $ doubled
  const line = words.map((word) => unitWord(word).replaceAll('$', '$$$$')).join(' ');
  return {
    service: [
      '[Unit]',
      `Description=${title}`,
      '',
      '[Service]',
      'Type=oneshot',
      ...environment,
      `ExecStart=${line}`,
      '',
    ].join('\n'),
    timer: [
      '[Unit]',
      `Description=${title}`,
      '',
      '[Timer]',
      'OnStartupSec=10min',
      `OnUnitActiveSec=${Math.round(everyMs / 1000)}s`,
      'RandomizedDelaySec=60s',
      '',
      '[Install]',
      'WantedBy=timers.target',
      '',
    ].join('\n'),
  };
}

/** A quoted word of a unit file (systemd.syntax(7)). */
const unitWord = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')}"`;

const xml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

export const plist = ({
  everyMs,
  words,
  variables,
}: DrillTimer): string => `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>gov.drill</string>
  <key>ProgramArguments</key>
  <array>
${words.map((word) => `    <string>${xml(word)}</string>\n`).join('')}  </array>
  <key>EnvironmentVariables</key>
  <dict>
${Object.entries(variables)
  .map(([name, value]) => `    <key>${xml(name)}</key>\n    <string>${xml(value)}</string>\n`)
  .join('')}  </dict>
  <key>StartInterval</key>
  <integer>${Math.round(everyMs / 1000)}</integer>
  <key>RunAtLoad</key>
  <true/>
</dict>
</plist>
`;

const opening = '# >>> gov agents drill; gov agents uninstall removes these lines\n';
const closing = '# <<< gov agents drill\n';
const block = new RegExp(`${opening}[\\s\\S]*?${closing}`, 'g');

/** The table of cron with our line, or without it. */
export function cronLines(table: string, scheduled: DrillTimer | null): string {
  const others = table.replace(block, '');
  if (scheduled === null) return others;
  const { words, variables } = scheduled;
  const set = Object.entries(variables).map(([name, value]) => `${name}=${cronWord(value)}`);
  const line = [`${cronTime(scheduled)} env`, ...set, ...words.map(cronWord), '>/dev/null 2>&1'].join(' ');
  const end = others === '' || others.endsWith('\n') ? '' : '\n';
  return `${others}${end}${opening}${line}\n${closing}`;
}

/** cron knows times of a day, so the time between two drills is rounded down to a divisor of a day. */
function cronTime({ everyMs, machine }: DrillTimer): string {
  const number = parseInt(hash('sha256', machine, 'hex').slice(0, 8), 16);
  const minute = number % 60;
  const hours = Math.floor(everyMs / hourMs);
  if (hours >= 24) return `${minute} ${number % 24} * * *`;
  const every = [12, 8, 6, 4, 3, 2, 1].find((each) => each <= hours) ?? 1;
  return `${minute} ${every === 1 ? '*' : `*/${every}`} * * *`;
}

/** cron ends a command at a percent sign that is not escaped, inside quotes too. */
const cronWord = (text: string): string => quotedWord(text).replaceAll('%', '\\%');
