import type { FakeAnswer, FakeCall } from '../fake-http.ts';
import { FakeRefusal } from './fake-api.ts';

/** A dedicated server, in the robot's own words. */
export interface FakeDedicatedServer {
  readonly server_number: number;
  server_name: string;
  readonly server_ip: string | null;
  readonly server_ipv6_net: string;
  readonly product: string;
  readonly dc: string;
  /** Undefined: the server has no reset option. */
  operatingStatus: string | undefined;
}

const gone = () => new FakeRefusal(404, 'SERVER_NOT_FOUND', 'server not found');

/** The robot's API as far as nodes need it (robot.hetzner.com/doc/webservice). */
export function answerRobot(servers: ReadonlyMap<number, FakeDedicatedServer>, { path }: FakeCall): FakeAnswer {
  const show = ({ operatingStatus: _, ...server }: FakeDedicatedServer) => ({
    server: {
      ...server,
      traffic: 'unlimited',
      status: 'ready',
      cancelled: false,
      paid_until: '2026-12-31',
      ip: server.server_ip === null ? [] : [server.server_ip],
      subnet: null,
      linked_storagebox: null,
    },
  });
  if (path === '/server') {
    if (servers.size === 0) throw new FakeRefusal(404, 'SERVER_NOT_FOUND', 'No server found');
    return { status: 200, body: [...servers.values()].map(show) };
  }
  const [, collection, number] = /^\/(server|reset)\/(\d+)$/.exec(path) ?? [];
  const server = servers.get(Number(number));
  if (server === undefined) throw gone();
  if (collection === 'server') return { status: 200, body: show(server) };
  if (server.operatingStatus === undefined)
    throw new FakeRefusal(404, 'RESET_NOT_AVAILABLE', 'the server has no reset option');
  const { server_ip, server_ipv6_net, server_number } = server;
  const reset = { server_ip, server_ipv6_net, server_number, type: ['sw', 'hw', 'man'] };
  return { status: 200, body: { reset: { ...reset, operating_status: server.operatingStatus } } };
}
