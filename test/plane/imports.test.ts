/** What a plane loads before it listens: nothing that the hosted service alone needs. */
import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { parseSync, Visitor } from 'rolldown/utils';
import { describe, expect, it } from 'vitest';
import { projectRoot } from '../paths.ts';

/** Files and packages that a file imports before it runs; types are gone by then. */
function importsOf(path: string): string[] {
  const found: string[] = [];
  const { program } = parseSync(path, readFileSync(join(projectRoot, path), 'utf8'));
  const note = (source: string): void => {
    found.push(source.startsWith('.') ? posix.join(posix.dirname(path), source) : source);
  };
  new Visitor({
    ImportDeclaration: (node) => {
      if (node.importKind !== 'type') note(node.source.value);
    },
    ExportAllDeclaration: (node) => {
      if (node.exportKind !== 'type') note(node.source.value);
    },
    ExportNamedDeclaration: (node) => {
      if (node.source !== null && node.exportKind !== 'type') note(node.source.value);
    },
  }).visit(program);
  return found;
}

/** Everything that is loaded with a file. */
function loadedWith(path: string): ReadonlySet<string> {
  const loaded = new Set<string>([path]);
  for (const each of loaded) {
    if (existsSync(join(projectRoot, each))) for (const next of importsOf(each)) loaded.add(next);
  }
  return loaded;
}

describe('a plane', () => {
  it('a plane loads no PostgreSQL, identity or payment provider', () => {
    const loaded = loadedWith('plane/serve/start.ts');
    for (const part of ['src/http/server.ts', 'src/store/sqlite/store.ts', 'better-sqlite3', 'fastify']) {
      expect(loaded).toContain(part);
    }
    const service =
      /^(?:pg|jose|stripe|prom-client|ajv)$|^src\/store\/postgres\/|^src\/host\/(?:service|hosting|identity|portal)/;
    expect([...loaded].filter((each) => service.test(each))).toEqual([]);
  });

  it('a service loads one engine, and loads providers only when they are configured', () => {
    const loaded = loadedWith('src/host/service/serve.ts');
    const late = /^(?:pg|better-sqlite3|jose|stripe)$|^src\/store\/(?:postgres|sqlite)\//;
    expect([...loaded].filter((each) => late.test(each))).toEqual([]);
  });
});
