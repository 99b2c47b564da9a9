import { describe, expect, it } from 'vitest';
import { hasData } from '../../../paths.ts';
import { expectToFit, importFile, importText, meta, ofType, readData, types } from '../fits.ts';

describe.skipIf(!hasData)('importing captures of MCP (skipped without the recorded runs)', () => {
  it.each([
    ['mcp/mcp-2026-07-28-stdio.jsonl', 10],
    ['mcp/stdio-server-everything.jsonl', 17],
    ['mcp/stdio-server-filesystem.jsonl', 17],
    ['mcp/stdio-server-memory.jsonl', 8],
    ['mcp/stdio-server-sequential-thinking.jsonl', 4],
    ['agents/mcp_cc1.log', 1],
    ['agents/mcp_cx.log', 0],
  ])('the MCP importer records every tools/call of %s: %i', (name, count) => {
    const [run] = importFile(name);
    expect(run?.format).toBe('mcp');
    expect(readData(name).split('"method":"tools/call"').length - 1).toBe(count);
    expect(ofType([run!], 'tool.call').length).toBe(count);
    expectToFit([run!]);
  });

  it('the MCP importer keeps the call id of the model and separates input_required from results', () => {
    const [claude] = importFile('agents/mcp_cc1.log');
    expect(ofType([claude!], 'tool.call').map((event) => meta(event)['toolCallId'])).toEqual([
      'toolu_01FAKE',
    ]);
    const [run] = importFile('mcp/mcp-2026-07-28-stdio.jsonl');
    const outcomes = ofType([run!], 'tool.result').map((event) => meta(event)['outcome']);
    expect(outcomes.filter((outcome) => outcome === 'input_required').length).toBe(1);
    expect(outcomes.filter((outcome) => outcome === 'error').length).toBe(4);
    expect(types(run).at(-1)).toBe('run.ended');
  });
});

describe('importing messages of MCP', () => {
  const line = (dir: string, msg: object) => JSON.stringify({ dir, msg: { jsonrpc: '2.0', ...msg } });

  it('the MCP importer never reads the answer to an elicitation as an approval', () => {
    const text = [
      line('client->server', { id: 1, method: 'tools/call', params: { name: 'pay', arguments: {} } }),
      line('server->client', { id: 1, method: 'elicitation/create', params: { message: 'ok?' } }),
      line('client->server', { id: 1, result: { action: 'accept' } }),
      line('server->client', { id: 1, result: { content: [], isError: true } }),
    ].join('\n');
    const [run] = importText(text, { sourceName: 'x.jsonl' });
    expect(types(run)).toEqual(['run.started', 'tool.call', 'agent.step', 'agent.step', 'tool.result']);
    expect(meta(run?.events.at(-1))['outcome']).toBe('error');
    expect(run?.events[3]?.action).toBe('answer elicitation/create');
  });

  it('the MCP importer keeps parameters that are no object', () => {
    const params = [{ name: 'pay', arguments: { amount: 5 } }];
    const [run] = importText(line('client->server', { id: 1, method: 'tools/call', params }), {
      sourceName: 'x.jsonl',
    });
    expect(types(run)).toEqual(['run.started', 'x.unknown', 'tool.call']);
    expect(meta(run?.events[1])['value']).toEqual(params);
    expectToFit([run!]);
  });
});
