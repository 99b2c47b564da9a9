import { describe, expect, it } from 'vitest';
import { addressOf, isPublic } from '../../../src/host/outbound/networks.ts';

const inside = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.100.100.200',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.254',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.19.255.255',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::808:808',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  '2001:db8::1',
  '2002:7f00:1::1',
  '2002:a00:1::1',
  '3fff::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
];

const outside = [
  '1.1.1.1',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '192.169.0.0',
  '223.255.255.255',
  '2001:200::1',
  '2600:1f00::1',
  '2606:4700:4700::1111',
  '2a00:1450:4001:80b::200e',
];

describe('isPublic', () => {
  it.each(inside)('rejects %s, which lies in a network that is not public', (address) => {
    expect(isPublic(address)).toBe(false);
  });

  it.each(outside)('accepts %s, which lies on the Internet', (address) => {
    expect(isPublic(address)).toBe(true);
  });

  it.each(['', 'localhost', '127.1', '0x7f000001', '1.1.1.1.', ' 1.1.1.1'])(
    'rejects %j, which is no IP address',
    (text) => expect(isPublic(text)).toBe(false),
  );
});

describe('addressOf', () => {
  // the URL parser turns every spelling of an IPv4 address into four decimal numbers
  it.each([
    ['https://2130706433/', '127.0.0.1'],
    ['https://0x7f.1/', '127.0.0.1'],
    ['https://0177.0.0.1/', '127.0.0.1'],
    ['https://127.1/', '127.0.0.1'],
    ['https://127.0.0.1./', '127.0.0.1'],
    ['https://１２７.０.０.１/', '127.0.0.1'],
    ['https://[::1]/', '::1'],
    ['https://[::ffff:127.0.0.1]/', '::ffff:7f00:1'],
    ['https://[0:0:0:0:0:ffff:7f00:0001]/', '::ffff:7f00:1'],
    ['https://[64:ff9b::10.0.0.1]/', '64:ff9b::a00:1'],
  ])('finds the address in %s', (url, address) => {
    const found = addressOf(new URL(url).hostname);
    expect(found).toBe(address);
    expect(isPublic(found!)).toBe(false);
  });

  it('returns null for a name', () => {
    expect(addressOf('localhost.')).toBeNull();
  });
});
