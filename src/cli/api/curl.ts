/** A call as a curl command, for bug reports and other shells. Tested by `test/cli/commands/api/run.test.ts`. */
import { projectHeader } from '../../contract/auth-words.ts';
import { quotedWord } from '../../core/shell-word.ts';
import { Safe } from '../terminal/safe.ts';

export interface CurlCall {
  readonly method: string;
  readonly url: string;
  readonly project: string | undefined;
  readonly hasKey: boolean;
  readonly body: unknown;
  readonly cacert: string | undefined;
}

/** The key is a variable of the shell: the text may be shown to others. */
export function curlText({ method, url, project, hasKey, body, cacert }: CurlCall): Safe {
  const words = [
    `curl -X ${method} ${quotedWord(url)}`,
    ...(hasKey ? ['-H "Authorization: Bearer $GOV_API_KEY"'] : []),
    ...(project === undefined ? [] : [`-H ${quotedWord(`${projectHeader}: ${project}`)}`]),
    ...(cacert === undefined ? [] : [`--cacert ${quotedWord(cacert)}`]),
    ...(body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `--data-binary ${quotedWord(String(Safe.json(body)))}`]),
  ];
  return Safe.clean(words.join(' \\\n  '));
}
