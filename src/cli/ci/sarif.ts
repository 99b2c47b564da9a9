/**
 * Findings as SARIF 2.1.0 (OASIS), which code scanning of GitHub and other services read.
 * Tested by `test/cli/ci/report.test.ts`.
 */
import { createHash } from 'node:crypto';
import { isAbsolute, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { version } from '../../client/version.ts';
import { Safe } from '../terminal/safe.ts';
import type { Check, Checks, CiFinding } from './checks.ts';

interface CheckWithFinding extends Check {
  readonly finding: CiFinding;
}

/** `cwd`: a file below this folder gets a relative address, as code scanning needs. */
export function sarifText({ command, checks }: Checks, cwd: string): string {
  const found = checks.filter(
    (check): check is CheckWithFinding => check.finding !== undefined && check.outcome !== 'skipped',
  );
  const rules = [...new Set(found.map(({ finding }) => finding.rule))];
  const driver = {
    name: 'gov',
    version,
    rules: rules.map((id) => ({
      id,
      shortDescription: { text: `gov ${command}: ${id.replaceAll('_', ' ')}` },
    })),
  };
  const results = found.map((check) => resultOf(check, rules, cwd));
  const log = {
    $schema: 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json',
    version: '2.1.0',
    runs: [{ tool: { driver }, columnKind: 'utf16CodeUnits', results }],
  };
  return `${Safe.json(log, 2)}\n`;
}

function resultOf({ group, name, finding }: CheckWithFinding, rules: readonly string[], cwd: string): object {
  const { rule, level, message, file } = finding;
  const place =
    file === undefined || file === '-'
      ? {}
      : { physicalLocation: { artifactLocation: { uri: addressOf(file, cwd) }, region: { startLine: 1 } } };
  const identity = createHash('sha256')
    .update(JSON.stringify([rule, group, name]))
    .digest('hex');
  return {
    ruleId: rule,
    ruleIndex: rules.indexOf(rule),
    level,
    message: { text: message },
    locations: [{ ...place, logicalLocations: [{ fullyQualifiedName: `${group}: ${name}` }] }],
    // a service shows the same finding of the next run as the same
    partialFingerprints: { 'gov/v1': identity },
  };
}

function addressOf(file: string, cwd: string): string {
  const path = isAbsolute(file) ? relative(cwd, file) : file;
  const isBelow = path.split(sep)[0] !== '..' && !isAbsolute(path);
  if (!isBelow && isAbsolute(file)) return pathToFileURL(file).href;
  return path.split(sep).map(encodeURIComponent).join('/');
}
