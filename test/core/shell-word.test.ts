import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { shellWord } from '../../src/core/shell-word.ts';
import { safe } from '../../src/cli/terminal/safe.ts';

const read = (word: string): string =>
  execFileSync('bash', ['-c', `printf %s ${word}`], {
    env: { ...process.env, LC_ALL: 'C.UTF-8' },
  }).toString();

describe('a word of a command to copy', () => {
  it.each([
    ['apr_01m8kxy65gf79vpyz9k6xe9hpg', 'apr_01m8kxy65gf79vpyz9k6xe9hpg'],
    ['dir/a-b.json', 'dir/a-b.json'],
    ['$(touch pwned)', "'$(touch pwned)'"],
    ['`id`', "'`id`'"],
    ["it's", "'it'\\''s'"],
    ['', "''"],
    ['-rf', "'-rf'"],
    ['-', '-'],
    ['~root', "'~root'"],
    ['a; b & c | d > e', "'a; b & c | d > e'"],
    ['größe', "'größe'"],
    ['pay\u200bfee', "$'pay\\u200bfee'"],
    ["\u202e$(id)'\\\u{e0041}e\n", "$'\\u202e$(id)\\'\\\\\\U000e0041e\\u000a'"],
    ['e\u0301\u0301\u0301\u0301', "$'e\u0301\u0301\u0301\\u0301'"],
  ])('%j is one word that bash reads as the same text', (text, word) => {
    expect(shellWord(text)).toBe(word);
    expect(String(safe`${shellWord(text)}`)).toBe(word);
    expect(read(word)).toBe(text);
  });
});
