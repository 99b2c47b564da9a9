/** A name server on loopback over UDP (RFC 1035) whose answers a test chooses, question by question. */
import { createSocket } from 'node:dgram';
import { isIPv4 } from 'node:net';

export interface NameServer {
  /** `127.0.0.1:PORT`, for `nameServers`. */
  readonly address: string;
  /** Questions so far, such as `A gov.test`. */
  readonly questions: readonly string[];
  close(): void;
}

/** `answer` returns the addresses of one family for the n-th question of that family, from 0. Null: no answer. */
export async function startNameServer(
  answer: (name: string, asked: { readonly family: 4 | 6; readonly time: number }) => string[] | null,
): Promise<NameServer> {
  const socket = createSocket('udp4');
  const questions: string[] = [];
  const times = { 4: 0, 6: 0 };
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = questionOf(query);
    const family = type === 28 ? 6 : 4;
    questions.push(`${family === 6 ? 'AAAA' : 'A'} ${name}`);
    const answers = answer(name, { family, time: times[family]++ });
    if (answers === null) return;
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180, 2); // a response, recursion available
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(answers.length, 6);
    socket.send(Buffer.concat([head, query.subarray(12, end), ...answers.map(recordOf)]), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return { address: `127.0.0.1:${socket.address().port}`, questions, close: () => void socket.close() };
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** A record without a time to live, whose name points to the question. */
function recordOf(address: string): Buffer {
  const data = isIPv4(address) ? Buffer.from(address.split('.').map(Number)) : v6Bytes(address);
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(isIPv4(address) ? 1 : 28, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function v6Bytes(address: string): Buffer {
  const [front = '', back = ''] = address.split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const filler = Array<string>(8 - groups(front).length - groups(back).length).fill('0');
  const all = address.includes('::') ? [...groups(front), ...filler, ...groups(back)] : groups(address);
  return Buffer.concat(all.map((group) => Buffer.from(group.padStart(4, '0'), 'hex')));
}
