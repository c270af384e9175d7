import { type AnnotationTable, annotationsOf } from '../annotation-table.ts';

export const prefix = 'kubernetes.io/elb.';

const flag = 'true or false';
const whole = (least: number, most: number) => `seconds, ${least} to ${most}`;
/** Of the classic controller, and in its ConfigMap too. */
const both = (values: string, meaning: string) => [values, `${meaning}; also in the ConfigMap`] as const;

/** Values and meaning of each, by its name without the prefix. */
export const annotationTable = {
  class: [
    'dedicated or shared',
    'default dedicated. Another class is another load balancer. NAT rules (dnat) and classic load balancers ' +
      '(elasticity) are refused',
  ],
  id: [
    'the id of its own load balancer',
    'that of another one is refused: none is shared, so mooring.dev/load-balancer-id is, too',
  ],
  'availability-zones': ['zones, separated by semicolons', 'of a new dedicated load balancer; default: zones of Nodes'],
  'subnet-id': ['an id', 'subnet of a new load balancer; default: [Vpc] subnet-id, then that of a Node'],
  'eip-id': ['an id', 'an EIP of others, whose description has to give consent. Another one is another address'],
  'eip-auto-create-option': [
    'JSON: ip_type, bandwidth_size, share_type, charge_mode, share_id',
    'a new EIP is the address; without this and eip-id it is the private address',
  ],
  'keep-eip': both(flag, 'default false. A new EIP stays when its Service goes, where the operator allows it'),
  'lb-algorithm': both('ROUND_ROBIN, LEAST_CONNECTIONS or SOURCE_IP', 'default ROUND_ROBIN'),
  'session-affinity-flag': both('on or off', 'default off; on is the same as spec.sessionAffinity'),
  'session-affinity-option': both(
    'JSON: type, cookie_name, persistence_timeout (minutes)',
    'default SOURCE_IP, and HTTP_COOKIE with HTTP',
  ),
  'health-check-flag': both('on or off', 'default on'),
  'health-check-option': both(
    'JSON: delay, timeout (seconds), max_retries',
    'default 5, 3, 3. Of TCP ports kube-proxy is asked on each node',
  ),
  'enable-transparent-client-ip': both(flag, 'TCP and UDP ports of a shared load balancer show the address of clients'),
  'x-forwarded-host': [flag, 'TCP ports become HTTP, with the header X-Forwarded-Host'],
  'default-tls-container-ref': ['the id of a certificate', 'TCP ports become HTTPS'],
  'idle-timeout': both(whole(0, 4000), 'of a connection that is idle; 0 says nothing'),
  'request-timeout': both(whole(0, 300), 'of a request, of HTTP and HTTPS'),
  'response-timeout': both(whole(0, 300), 'of an answer, of HTTP and HTTPS'),
  'enable-cross-vpc': both(flag, 'a dedicated load balancer may have members of other VPCs, by their addresses'),
  'l4-flavor-id': both('an id', 'size of a dedicated load balancer for TCP and UDP'),
  'l7-flavor-id': both('an id', 'size of a dedicated load balancer for HTTP and HTTPS'),
  'connection-limit': ['ignored', 'nothing reads it, the classic controller neither'],
} as const satisfies AnnotationTable;

export type AnnotationName = keyof typeof annotationTable;

export const annotations = annotationsOf(prefix, annotationTable);
