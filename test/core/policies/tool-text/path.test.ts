import { posix } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isWithin, plainPath } from '../../../../src/core/policies/tool-text/path.ts';

describe('plain paths', () => {
  it.each([
    ['/srv/app/../../etc/passwd', '/etc/passwd'],
    ['/srv//app/./x/', '/srv/app/x'],
    ['/../../etc', '/etc'],
    ['..\\..\\secret', '../../secret'],
    ['C:\\Users\\x', 'C:/Users/x'],
    ['./', '.'],
    ['a/..', '.'],
    ['/', '/'],
  ])('the path %j becomes %j', (text, plain) => {
    expect(plainPath(text)).toBe(plain);
  });

  it.each([
    '',
    '~/.ssh/id_rsa',
    '$HOME/.ssh',
    '`pwd`/x',
    '/srv/%2e%2e/etc',
    '/srv/a%2Fb',
    '/etc/passwd\0.png',
    'a\nb',
    'file:///etc/passwd',
    'https://x/y',
    '/srv/app/a\\b/../../secret',
    '/srv/app\\x',
    '/srv/app/{../../etc,x}/passwd',
    '/srv/app/%252e%252e/etc',
  ])('the text %j is no plain path', (text) => {
    expect(plainPath(text)).toBeNull();
  });

  it('a path of plain letters has the same normal form as by Node', () => {
    const part = fc.constantFrom('a', 'b', '.', '..', '');
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 8 }), (parts) => {
        const text = parts.join('/');
        fc.pre(text !== '');
        const normal = posix.normalize(text);
        expect(plainPath(text)).toBe(normal === '/' ? '/' : normal.replace(/\/$/, ''));
      }),
    );
  });

  it.each([
    ['/srv/app/x', '/srv/app', true],
    ['/srv/app', '/srv/app', true],
    ['/srv/application', '/srv/app', false],
    ['/etc', '/', true],
    ['src/x', 'src', true],
    ['other', 'src', false],
    ['src', '.', true],
    ['src/x', '/src', null],
    ['/src/x', 'src', null],
    ['../src/x', 'src', null],
    ['../src/x', '../src', true],
    ['../../x', '../src', null],
    ['../x', '.', null],
  ])('the path %j in the folder %j: %j', (path, folder, expected) => {
    expect(isWithin(path, folder)).toBe(expected);
  });
});
