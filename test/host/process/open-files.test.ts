import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { connectionsThatFit } from '../../../src/host/process/open-files.ts';

const { ownOpenFiles, fewestConnections, connections } = limits;

describe('the connections of a process', () => {
  it('a process allows as many connections as its limit of open files leaves after its own files', () => {
    expect(connectionsThatFit(connections, { openFiles: 1024 })).toBe(1024 - ownOpenFiles);
    expect(connectionsThatFit(connections, { openFiles: 1024, own: 200 })).toBe(824);
  });

  it('a process never allows more connections than the limit of the server', () => {
    const enough = connections + ownOpenFiles;
    expect(connectionsThatFit(connections, { openFiles: enough })).toBe(connections);
    expect(connectionsThatFit(connections, { openFiles: enough - 1 })).toBe(connections - 1);
    expect(connectionsThatFit(connections, { openFiles: Infinity })).toBe(connections);
  });

  it('a process that could have too few connections is refused with the limit that is needed', () => {
    const fewest = ownOpenFiles + fewestConnections;
    expect(connectionsThatFit(connections, { openFiles: fewest })).toBe(fewestConnections);
    expect(() => connectionsThatFit(connections, { openFiles: fewest - 1 })).toThrow(
      `expected a limit of at least ${fewest} open files, got ${fewest - 1}; raise it with`,
    );
  });

  it('the number of connections follows from the limit of this process', () => {
    expect(connectionsThatFit()).toBeGreaterThan(fewestConnections);
  });
});
