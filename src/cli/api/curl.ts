/** A call as a curl command, for bug reports and other shells. Tested by `test/cli/commands/api/run.test.ts`. */
import { projectHeader } from '../../contract/auth-words.ts';
import { Safe } from '../terminal/safe.ts';

export interface CurlCall {
  readonly method: string;
  readonly url: string;
  readonly project: string | undefined;
  readonly hasKey: boolean;
  readonly body: unknown;
  readonly cacert: string | undefined;
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The key is a variable of the shell: the text may be shown to others. */
export function curlText({ method, url, project, hasKey, body, cacert }: CurlCall): Safe {
  const words = [
    `curl -X ${method} ${quoted(url)}`,
    ...(hasKey ? ['-H "Authorization: Bearer $GOV_API_KEY"'] : []),
    ...(project === undefined ? [] : [`-H ${quoted(`${projectHeader}: ${project}`)}`]),
    ...(cacert === undefined ? [] : [`--cacert ${quoted(cacert)}`]),
    ...(body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `--data-binary ${quoted(String(Safe.json(body)))}`]),
  ];
  return Safe.clean(words.join(' \\\n  '));
}
