import { type AnnotationTable, annotationsOf } from '../annotation-table.ts';

export const prefix = 'service.beta.kubernetes.io/cloudstack-load-balancer-';

/** Values and meaning of each, by its name without the prefix. */
export const annotationTable = {
  'proxy-protocol': ['true or false', 'nodes get the PROXY protocol on TCP ports; default false'],
  hostname: ['a DNS name', "stands in the Service's status instead of the address"],
  'source-cidrs': [
    'CIDRs, separated by commas',
    "from where the rules take traffic; default everywhere. spec.loadBalancerSourceRanges are the firewall's",
  ],
  stickiness: [
    'LbCookie, AppCookie or SourceBased, and its parameters: AppCookie, cookie-name=JSESSIONID',
    'policy of each TCP rule; SourceBased expires as sessionAffinity does where it names no expire; default none',
  ],
  'ip-associated-by-controller': [
    'true or false',
    'written by the classic controller; with --adopt: the address of spec.loadBalancerIP is released with the Service',
  ],
} as const satisfies AnnotationTable;

export type AnnotationName = keyof typeof annotationTable;

export const annotations = annotationsOf(prefix, annotationTable);
