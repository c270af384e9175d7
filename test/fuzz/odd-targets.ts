import type { Dice } from './dice.ts';
import { canary } from './evil-values.ts';

export function oddPath(dice: Dice): string {
  return dice.pick([
    '/',
    '/v1/report/',
    '/v1/report?x=y',
    `/v1/report?${'x'.repeat(3000)}`,
    '/v1/report#x',
    '/v1/report;x',
    '/v1//report',
    '//v1/report',
    '/v1/./report',
    '/v1/x/../report',
    '/V1/REPORT',
    '/v1/rep%6frt',
    '/v1/report%00',
    '/v1/report%2f',
    '/%',
    '/%zz',
    '/%ff%fe',
    '/%c0%af',
    `/${canary}%`,
    '/metrics',
    '/livez',
    '/__proto__',
    '/../../etc/passwd',
    '*',
    'x',
    'https://evil.example/v1/report',
    'http://[::1',
    '/v1/report\u00ff',
    '/v1/report\\',
    `/${'a'.repeat(8000)}`,
    `/${'a/'.repeat(4000)}`,
    `/${'%41'.repeat(3000)}`,
  ]);
}

export function oddMethod(dice: Dice): string {
  return dice.pick([
    'GET',
    'HEAD',
    'PUT',
    'DELETE',
    'OPTIONS',
    'TRACE',
    'CONNECT',
    'PATCH',
    'PROPFIND',
    'QUERY',
    'M-SEARCH',
    'SOURCE',
    'post',
    'XYZ',
    '',
    'POST\u0000',
    'GET'.repeat(1000),
  ]);
}
