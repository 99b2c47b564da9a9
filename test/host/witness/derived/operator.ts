/** An operator that changed its software and holds the key of the log: it serves a log with hidden events over HTTP. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mapEntry } from '../../../../src/core/completeness/entry.ts';
import { entryBundle, parseTilePath, tileWidth } from '../../../../src/core/merkle/tile-path.ts';
import { formatWitnessRequest } from '../../../../src/core/note/witness.ts';
import { answerMediaType, answerText } from '../../../../src/core/proofs/answer.ts';
import { pathText } from '../../../../src/core/proofs/bundle.ts';
import { hiddenLog, type HiddenLog } from '../../../core/completeness/hidden.ts';

interface Operator extends HiddenLog {
  readonly url: string;
  /** The body of `POST /add-checkpoint` for a first checkpoint of `size` leaves. */
  readonly body: (size?: number) => string;
  readonly note: () => string;
  /** Paths below the interface that were asked for. */
  readonly asked: string[];
  /** What the server does: serve, answer 503, serve other records than the signed ones, hide its map, or never answer. */
  mode: 'serve' | 'down' | 'forge' | 'silent' | 'stall';
  close(): Promise<void>;
}

export async function startOperator(hidden: readonly number[]): Promise<Operator> {
  const of = hiddenLog(hidden);
  const { log } = of;
  const size = () => log.leaves.length;
  const asked: string[] = [];
  const operator = {
    ...of,
    asked,
    mode: 'serve' as Operator['mode'],
    url: '',
    note: () => log.checkpoint(size()),
    body: (at = size()) => formatWitnessRequest({ oldSize: 0, proof: [], note: log.checkpoint(at) }),
    close: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://operator');
    const path = url.pathname.replace('/api/v1/log/', '');
    asked.push(path);
    const tile = parseTilePath(path);
    if (operator.mode === 'stall') return;
    if (operator.mode === 'down') return void response.writeHead(503).end();
    if (tile !== null) {
      const [from, to] = [tile.index * tileWidth, tile.index * tileWidth + tile.width];
      const records = log.leaves.slice(from, to).map(({ record }) => record);
      if (operator.mode === 'forge') records[5] = records[6] ?? '';
      const bytes =
        tile.kind === 'entries' ? entryBundle(records) : Buffer.concat(log.hashes.slice(from, to));
      return void response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytes);
    }
    if (path !== 'answers' || operator.mode === 'silent') return void response.writeHead(404).end();
    const key = ['run', url.searchParams.get('runId') ?? ''];
    const shown = of.map.path(key);
    const text = answerText({
      mediaType: answerMediaType,
      question: { key, since: null, until: null },
      checkpoint: operator.note(),
      index: {
        index: of.index,
        record: log.leaves[of.index]?.record ?? '',
        inclusion: pathText(log.path(of.index, size())),
      },
      entry: mapEntry(key, shown.path, shown.value),
    });
    response.writeHead(200, { 'content-type': 'application/vnd.gov.answer.v1+json' }).end(text);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo; // it listens at a host and port
  operator.url = `http://127.0.0.1:${port}/api/v1`;
  return operator;
}
