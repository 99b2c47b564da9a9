/**
 * `gov plane telemetry schema`: the messages of a plane, as JSON Schema.
 * Tested by `test/cli/commands/plane/telemetry.test.ts`.
 */
import { AttestationProof, EnrolmentRequest, telemetry, UsageReport } from '../../../contract/telemetry.ts';
import type { Run } from '../../context/command.ts';
import type { planeTelemetrySchema as spec } from '../../specs/operate/plane-telemetry.ts';

const messages = {
  usageReport: UsageReport,
  attestation: AttestationProof,
  enrolment: telemetry.enrollDataPlane.body,
  enrolmentByFile: EnrolmentRequest,
  rotation: telemetry.rotatePlaneCredentials.body,
};

export const run: Run<typeof spec> = ({ out }) =>
  out.json(
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: 'What a data plane sends to its service',
      anyOf: Object.keys(messages).map((name) => ({ $ref: `#/$defs/${name}` })),
      $defs: messages,
    },
    2,
  );
