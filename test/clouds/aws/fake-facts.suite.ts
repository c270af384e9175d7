import { classicRules } from './classic-rules.ts';
import { fakeFacts } from './fake/facts.suite.ts';
import { loadBalancerRules } from './load-balancer-rules.ts';
import { onMoto } from './on-moto.ts';

fakeFacts(onMoto([...loadBalancerRules(), ...classicRules()]));
