import { cloudSuite } from '../suite/cloud-suite.ts';
import { loadBalancerRules } from './load-balancer-rules.ts';
import { onMoto } from './on-moto.ts';
import { networkSuite } from './suites.ts';

cloudSuite(networkSuite(onMoto(loadBalancerRules())));
