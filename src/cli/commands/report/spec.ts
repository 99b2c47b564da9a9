/** Commands of the noun report, as data. Tested by `test/cli/commands/report/verify.test.ts`. */
import { command } from '../../program/spec.ts';

export const reportVerify = command({
  name: 'report verify',
  summary: 'Verify a report, PDF or JSON, without the service',
  details: [
    'gov verifies the file, or standard input with -, on this machine alone: without network or store. It takes the attachments out, checks every hash, the signed checkpoint and each attached proof bundle, and renders the pages again from the attached data to compare them.',
    'Trusted keys come from --key, --trust or the trust file of the chosen context; never from the report.',
    'The data hash identifies the report. Compare it with the one that you have from another source, such as the service or a letter: --hash.',
    'Pages that another version of gov wrote may come out otherwise. Then gov says that they were not compared, and the report is not verified. Use the version that the file names, or judge the attached data alone: --data-only.',
  ],
  args: [{ name: 'report', description: 'File of a report, PDF or JSON, or - for standard input' }],
  flags: {
    key: {
      type: 'strings',
      value: 'VKEY',
      description: 'Trust this verifier key (C2SP signed-note); repeatable',
    },
    trust: { type: 'string', value: 'FILE', description: 'Trust the keys of this file (C2SP tlog-policy)' },
    hash: {
      type: 'string',
      value: 'HASH',
      pattern: '^(?:sha256:)?[0-9a-f]{64}$',
      description: 'Require this data hash',
    },
    fonts: {
      type: 'string',
      value: 'DIR',
      description: 'Folder with the fonts for other scripts that the report was set in',
    },
    dataOnly: { type: 'boolean', description: 'Judge the attached data alone, not the printed pages' },
  },
  examples: [
    'gov report verify report.pdf',
    'gov report verify report.pdf --trust auditor.trust --hash 6ee0eb490ff832101cf82a3d387c35f29e4230be786978f7acf9e811febf6723',
    'gov report verify report.json --key gov.local/prj_x/audit+2f1c8a90+AUj…',
  ],
  exitCodes: {
    0: 'verified',
    2: 'no key is trusted, or the file could not be read as a report',
    3: 'changed, not authentic, or its pages were not compared',
    11: 'authentic, but an attached proof shows that its run broke a policy',
  },
});
