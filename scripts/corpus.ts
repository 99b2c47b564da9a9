/**
 * `npm run corpus -- DIR`: runs the importers over every file below a folder of recordings, sends nothing, and prints what
 * does not balance. Exits with 1 if a file does not, and with 0 also for files that no importer reads: it lists them.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { unbalanced } from '../src/core/balance/statement.ts';
import { balanceOfBytes, faultText, placeOf } from '../src/core/intake/balance-file.ts';

const [folder = '.'] = process.argv.slice(2);
const listedFaults = 5;
const counts = { balanced: 0, leftOut: 0, strange: 0, unbalanced: 0, unread: 0 };

for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()) {
  const path = join(folder, name);
  if (statSync(path).isFile() && /\.(jsonl?|ndjson|traj|pb|log)$/.test(name)) check(path);
}
console.log(
  Object.entries(counts)
    .map(([what, count]) => `${count} ${what}`)
    .join(', '),
);
process.exitCode = counts.unbalanced > 0 ? 1 : 0;

function check(path: string): void {
  const name = relative(folder, path);
  let read;
  try {
    read = balanceOfBytes(name, readFileSync(path));
  } catch (error) {
    counts.unread += 1;
    console.log(`unread      ${name}: ${error instanceof Error ? error.message : String(error)}`);
    return;
  }
  const { balance, faults } = read;
  const open = unbalanced(balance);
  if (faults.length > 0 || open.length > 0) {
    counts.unbalanced += 1;
    console.log(
      `unbalanced  ${name} (${balance.source.format}): ${faults.length} facts${open.length === 0 ? '' : `; the sums of ${open.join(', ')} do not come out`}`,
    );
    for (const fault of faults.slice(0, listedFaults))
      console.log(
        `            ${fault.found === undefined ? '' : `${placeOf(fault.found)}: `}${faultText(fault)}`,
      );
  } else if (read.strange !== undefined) {
    counts.strange += 1;
    const { understood, first } = read.strange;
    console.log(
      `strange     ${name} (${balance.source.format}): ${understood} % is understood; ${first.where}: ${first.why}`,
    );
  } else if (balance.leftOut.parts > 0) {
    counts.leftOut += 1;
    console.log(`left out    ${name} (${balance.source.format}): ${balance.leftOut.parts} parts`);
    for (const { where, why } of balance.remainder.slice(0, listedFaults))
      console.log(`            ${where}: ${why}`);
  } else counts.balanced += 1;
}
