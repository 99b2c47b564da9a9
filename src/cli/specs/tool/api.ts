/** `gov api`, as data. Tested by `test/cli/commands/api/run.test.ts`. */
import { command, flag } from '../../program/spec.ts';

export const api = command({
  name: 'api',
  prints: 'any',
  summary: 'Call an operation of the HTTP interface by its path, with the credential of the context',
  changes: { unless: { method: 'GET', curl: true } },
  details: [
    'gov api /runs is short for gov api GET /runs. The path is relative to the base URL and must belong to the interface; docs/reference/http.md lists all operations. The response is printed as JSON, unless -o says otherwise.',
    'The interface decides the type of a field: -F amount=5 is a number, and -F runId=5 text. With GET, fields become the query.',
  ],
  args: [
    {
      name: 'method',
      description: 'GET, POST, PUT or DELETE',
      choices: ['GET', 'POST', 'PUT', 'DELETE'],
    },
    { name: 'path', description: 'Path, also with a query, such as /runs or "/events?runId=checkout-42"' },
  ],
  flags: {
    field: flag.list(
      'NAME=VALUE',
      'Member of the body or of the query; NAME=@FILE reads the value from a file',
      { short: 'F' },
    ),
    input: flag.text('FILE', 'File with the whole body, or - for standard input'),
    paginate: flag.on('Fetch every page of a list, and print them as one'),
    showSecret: flag.on('Print a response with a new secret also where standard output is no terminal'),
    curl: flag.on('Print the call as a curl command, without the key, and send nothing'),
  },
  examples: [
    'gov api GET /runs --paginate --jq ".data[].runId"',
    'gov api POST /jobs/job_01jq3v5k8hf7wb3c9x2m4n6p8r/retry',
    'gov api POST /governance/evaluate --input request.json --curl',
  ],
});
