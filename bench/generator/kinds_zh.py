"""Chinese requests, thoughts and reports of the kinds coding, incident and analysis."""

# One sentence is one line, however long.
# ruff: noqa: E501

from __future__ import annotations

from bench.generator.kinds_people_zh import CHAT, SUPPORT
from bench.generator.vocabulary import KindWords

CODING = KindWords(
    system=(
        "你是 {product} 代码仓库里一名谨慎的编程助手。小步推进：改动之前先读代码，改完运行相关测试，并用 update_plan 维护计划。"
        "如实说明做了什么、还剩什么没做。需求有两种理解且差别重要时，先问清楚。"
    ),
    requests=(
        "{service} 一重启，{noun}导出就会写两遍数据，麻烦查一下原因并修好。",
        "能不能让 `{function}` 支持多个 worker 同时调用？",
        "每条{noun}都要有 `{field}`，{date} 之前写入的也要补上。",
        "`{test}` 大概每 {few} 次会失败一次，我想让它稳定下来，不要直接跳过。",
        "请把 {path} 拆开，解析和存储现在混在一起了。",
        "{noun}导入现在要跑 {minutes} 分钟，先找出慢在哪里，再给方案。",
        "{person}说 {env} 环境报了 {error}，你能复现吗？",
        "{noun}的 `{column}` 列要改名，但不能影响晚一个版本的读取方。",
        "给 `{function}` 加一个演练模式，只打印会写什么，不真正写。",
        "{noun_b}那边现在把 `{field}` 当整数发过来，{noun}的读取逻辑要跟着改。",
        "帮忙看看分支 {branch}，能不能合并给个结论。",
        "旧的{noun}缓存可以删了，当初就是临时方案。",
        "{path} 里缺类型标注，补上，再把检查器报的问题修掉。",
        "`{function}` 外面那层重试把真正的错误盖住了，把范围收窄一点。",
    ),
    contexts=(
        "是从 {version} 版本开始出现的。", "{person}只在 {region} 见过。", "{branch} 上有个做了一半的尝试。",
        "{team}在等这个改动。", "可能和之前在 {earlier_path} 看到的有关。", "{date} 也出过类似的问题，不过原因不一样。",
        "每天大约影响 {count} 行。", "不算紧急，但每周都会冒出来。", "以 {service} 的行为为准。", "我在本地试过，现象一样。",
    ),
    wishes=(
        "先写一个能暴露问题的测试。", "改动尽量小。", "动表结构之前先跟我说一声。", "更新日志里写一句就够了。",
        "调用方也顺便看一眼。", "如果比预想的大，先停下来告诉我。", "宁可慢一点，也要做对。", "最后把{noun}的测试全跑一遍。",
    ),
    findings=(
        "原因在 `{function}`：它在拿到租约之前就读了 `{field}`，于是两个 worker 看到的是同一条{noun}。",
        "`{function}` 现在先拿租约，如果被别的 worker 占着就抛出 {error}。",
        "慢的是 `{column}` 上的那次连接，改成分块读取以后，从 {minutes} 分钟降到了 {few} 分钟。",
        "这个测试依赖{noun}的行序，现在改成按 `{field}` 排序后再比较。",
        "模块已经拆开：解析留在 {path}，存储挪到了 {path_b}。",
        "回填跑完之前，旧的读取方从默认值取 `{field}`，新的直接读这一列。",
        "{error} 来自 {version} 版本写入的数据，那些行没有 `{field}`。",
        "改一处就能合并：`{function}` 把调用方要等的错误吞掉了。",
        "{few} 个 worker 加 {count} 行数据就能复现，单个 worker 从来不会。",
        "缓存只挡住了 {percent} 的读取，去掉之后每页多花 {ms}，基本感觉不到。",
        "`{function}` 现在支持 `dry_run=True`，列出了 {count} 条将要写入的内容，没有碰存储。",
        "{noun}的读取逻辑现在两种形式的 `{field}` 都能接受，文本先解析再比较。",
        "{path} 的类型补全了；检查器找出 {few} 个真正的错误，其中一个是 `None` 传进了 `{function}`。",
        "重试现在只捕获 {error}，其他错误会立刻抛给调用方。",
    ),
    details=(
        "{earlier_path} 里也有同样的写法，我没有动。", "之前的数字是 {earlier_number}，所以这在预期之内。",
        "我在 {test} 里加了一个用例，不改代码就会失败。", "有两个调用方依赖旧的顺序，都已经改好。",
        "关键的一行在 {path}:{line}。", "没有别的地方引用它，我在所有目录里搜过。", "日志里的 {earlier_id} 正好走了这条路径。",
        "{earlier_path} 的覆盖率略有上升，没覆盖到的是报错分支。", "提交是 {commit}，在 {branch} 上。", "类型检查还剩一条警告，之前就有。",
    ),
    offers=(
        "要不要接着改调用方？", "剩下的我可以另开一个任务。", "如果想把回填放进同一个改动，告诉我。", "这一块的测试全部通过。",
        "还没有推送。", "下一步可以看 {path_b}。", "这件事就到这里。", "你同意的话，我把两个提交合成一个。",
    ),
    plan=(
        "复现{noun}的问题", "阅读 `{function}` 及其调用方", "写一个会失败的测试", "修改 {path}", "运行{noun}的测试",
        "更新变更日志", "核对 {env} 的配置", "找{person}确认 `{field}`", "删除旧代码路径", "重新测一次耗时",
    ),
    thoughts={
        "": (
            "两处一起看一下。", "接下来确认调用方是不是一致。", "这还解释不了问题。", "动手之前再看一个地方。",
            "我想亲眼确认一下。", "和 {earlier_path} 是同一种写法。", "看来 {earlier_number} 还不是全部原因。", "继续顺着 {earlier_id} 往下查。",
        ),
        "read_file": ("先读 {target}。", "{target} 应该能看出 `{field}` 是怎么丢的。", "再看另一边：{target}。", "打开 {target}，看租约附近。"),
        "grep": ("还有谁在调用 `{target}`？", "在所有目录里搜 `{target}`。", "找一下 `{target}` 的其他用法。"),
        "run_tests": ("运行 {target}。", "看看 {target} 认不认这个改动。", "先跑这一块的测试，从 {target} 开始。"),
        "edit_file": ("改动放在 {target}。", "我来改 {target}。", "{target} 里只动一小处：先拿租约。"),
        "shell": ("看看构建怎么说。", "看看构建输出。", "先构建一次，看看警告。"),
        "git_diff": ("继续之前先看 {target} 的差异。", "拿 {target} 和分支比一下。"),
        "update_plan": ("更新一下计划。", "先列计划。", "把做完的勾掉。"),
    },
)  # fmt: skip

INCIDENT = KindWords(
    system=(
        "你协助 {product} 的值班工程师处理线上问题。先看后动，优先选择可以回退的步骤，保持时间线完整，改生产环境之前一定先说明。"
        "工具可以读日志、指标、链路和集群状态；update_plan 里放未完成的步骤。"
    ),
    requests=(
        "{hour} 收到告警：{region} 的 {service} 的 {metric} 升高，先帮忙看一眼。",
        "{team}的客户看到 {error}，最近改了什么？",
        "{version} 上线之后，{service} 每 {minutes} 分钟重启一次。",
        "{service} 后面的队列一直消化不掉，查一下是消费者的问题还是数据的问题。",
        "{region} 有没有受影响，还是只有 {region_b}？",
        "我们找到第一个失败的请求，顺着各个服务查下去。",
        "请对比 {hour} 前后的 {metric}。",
        "{service} 的连接池又满了，我要知道是谁占着连接。",
        "我把 {service} 回滚到 {version} 了，现在好些了吗？",
        "先把目前知道的情况写下来，再去看 {service_b}。",
        "{service} 的报错是不是只出现在 {env}？",
        "{metric} 的告警又响了，离上次关闭才 {minutes} 分钟。",
    ),
    contexts=(
        "{service_b} 今天是{person}值班。", "最近一次上线是 {hour} 的 {version}。", "{earlier_id} 可能是个好例子。", "{team}已经通知到了。",
        "状态页还没有更新。", "大约 {percent} 的请求受影响。", "{date} 也响过同样的告警。", "流量看起来正常。", "离夜间任务开始还有 {minutes} 分钟。",
    ),
    wishes=(
        "先别动手修，我想弄明白。", "请给我具体数字。", "时间线继续记着。", "告诉我你会先回滚哪一个。", "需要权限就说。",
        "现在简短回答就行。", "先排除那些便宜的解释。",
    ),
    findings=(
        "报错从 {hour} 开始，正好是 {version} 到达 {region} 之后 {few} 分钟。",
        "{service} 在等 {service_b}：耗时 {ms} 的调用最后都以 {error} 结束。",
        "连接池被 {few} 个 worker 占着，它们遇到 {error} 之后从不归还连接。",
        "是数据的问题：{count} 条消息没有 `{field}`，消费者一直在重试。",
        "只有 {region} 受影响，{region_b} 还是平时的 {ms}。",
        "回滚有效：{metric} 回到昨天的水平，队列每分钟减少 {count} 条。",
        "重启跟着内存走：每个实例跑到 {minutes} 分钟就顶到上限被停掉。",
        "第一个失败的请求是 {request_id}，在它之前一切正常。",
        "这里有两件事叠在一起，一次上线，加上一个节点磁盘变慢。",
        "告警没错，不过阈值 {few} 比平时的峰值还低。",
        "只有 {env} 出现，同一个小时里 {env_b} 总共才 {few} 条报错。",
    ),
    details=(
        "{earlier_id} 最能说明问题。", "峰值是 {earlier_number}。", "配置在 {earlier_path}，上次修改是 {commit}。", "有 {percent} 的请求最后会重试。",
        "最早的一条消息已经积压 {minutes} 分钟。", "{team}的其他服务没有受影响。", "有一个节点的时钟差了 {ms}。", "过去一小时我找到 {count} 条这样的记录。",
        "{hour} 之前一条也没有。", "同一节点上的实例表现一致。",
    ),
    offers=(
        "下一步我想把队列先导到旁路表里。", "要不要准备回滚？", "我继续盯着 {metric}。", "时间线已经更新。", "目前不需要做什么。",
        "{service} 怎么处理，需要你来定。", "如果再出现，先看 {service_b}。",
    ),
    plan=(
        "找到第一个失败的请求", "对比 {region} 和 {region_b}", "核对 {version} 的上线内容", "阅读 {service} 的处置手册", "检查 {service_b} 的连接池",
        "通知{team}", "决定是否回滚", "观察 {metric} {minutes} 分钟", "写总结",
    ),
    thoughts={
        "": (
            "几个来源一起看。", "范围缩小了。", "时间点应该能说明更多。", "顺着 {earlier_id} 看各个服务。", "和 {earlier_number} 比，这已经很多了。", "还下不了结论。",
        ),
        "query_logs": ("看 {target} 那段时间的日志。", "{target} 说了什么？", "我读一下 {target} 的日志。"),
        "query_metrics": ("最近几小时的 {target}。", "按地域看看 {target}。"),
        "query_traces": ("经过 {target} 的慢调用。", "查一下涉及 {target} 的链路。"),
        "kubectl": ("看实例状态。", "哪些实例重启过？", "再看集群本身。"),
        "get_alert": ("看告警和它的历史。", "这个告警以前什么时候响过？"),
        "read_runbook": ("翻一下 {target} 的处置手册。", "处置手册里 {target} 怎么写的？"),
        "read_file": ("看 {target} 里的配置。", "核对 {target}。"),
        "update_plan": ("更新未完成的步骤。", "目前的计划是这样。"),
    },
)  # fmt: skip

ANALYSIS = KindWords(
    system=(
        "你是 {product} 的数据分析师，可以访问数据仓库。给出数字之前先说明问题、数据表和过滤条件；核对行数；差异可能只是波动时要讲清楚。"
        "工具可以查看表结构、执行查询和脚本；update_plan 里放步骤。"
    ),
    requests=(
        "从 {date} 起，各地域的{noun}数量是怎么变化的？",
        "{table} 和 {table_b} 在 {date} 对不上，请查一下原因。",
        "哪些{noun}记录没有 `{column}`，它们从哪里来？",
        "我要按月的作废{noun}占比，不含测试账号。",
        "{date} 之后{noun}下降，是真的还是加载漏了数据？",
        "按每个客户的{noun}，把 {region} 和 {region_b} 比一比。",
        "{person}想给管理层一张关于{noun}的图，你会放什么？",
        "看一下 {table} 里的 `{column}` 能不能放心拿来关联。",
        "把{noun}月报重新跑一遍，告诉我和上一版差在哪里。",
        "一条{noun}平均要多久才关闭，最近有没有变化？",
        "{noun}的预测偏了 {percent}，问题出在哪一步？",
        "发布之前帮忙看看 {table} 里有没有异常值。",
    ),
    contexts=(
        "上一版报告写的是 {earlier_number}。", "财务按入账日统计，我们按事件。", "{person}在 {path} 里有一条旧查询。", "{table} 在 {date} 重新加载过。",
        "{region} 的数据会晚 {few} 个小时到。", "{team}用的是同一套数字。", "迁移可能留下了重复数据。", "是给 {date} 的评审用的。",
    ),
    wishes=(
        "查询语句也贴出来。", "四舍五入到合理的位数。", "说说你有多大把握。", "一张表就够了。", "本周的数据不要算。", "请换一种方法再核对一遍。", "把你做的假设写下来。",
    ),
    findings=(
        "两张表不一致，是因为 {table} 把作废的行也算进去了，{table_b} 没有，一共差 {count} 行。",
        "{region} 的下降是真的（{percent}），其他地方是因为少了一天的数据。",
        "`{column}` 在 {table} 里并不唯一：有 {count} 个值重复出现，直接关联会让行数翻倍。",
        "{date} 之后，处理时长的中位数从 {few} 天变成了 {few_b} 天。",
        "{count_b} 行里有 {count} 行没有 `{column}`，几乎全部来自 {region}。",
        "去掉测试账号后占比是 {percent}，不去掉的话会高出一倍。",
        "预测没有考虑{noun_b}的那次活动，去掉那几天，误差是 {percent}。",
        "差异主要来自 {few} 个客户，最大的是 {customer}。",
        "除了 {region} 有迟到的数据，报告和上一版一致。",
        "{region} 的{noun}增长了 {percent}，{region_b} 基本持平，其他地域跟着季节走。",
        "给管理层我会只放一张按月、按地域的{noun}折线图，{date} 的跳变加一条脚注。",
        "{table} 里有 {count} 行明显偏离，其中 {few} 行的 `{column}` 不可能是对的。",
    ),
    details=(
        "查询语句在 {path}。", "我和之前的 {earlier_number} 对过。", "{earlier_id} 是一个典型的例子。", "本周的数据没有算进去。", "区间很宽，不宜过度解读。",
        "换一种算法得到 {count}。", "`{column}` 上的过滤去掉了 {percent}。", "时间都是 UTC。", "我用的是 {table}，不是快照。", "背后的脚本是 {earlier_path}。",
    ),
    offers=(
        "要不要按月拆开？", "建议加个脚注再发布。", "下一步可以清洗 `{column}`。", "结果已经存成一张表。", "如果财务口径不同，请告诉我。", "数据里没有别的意外。", "也可以对 {region_b} 再做一遍。",
    ),
    plan=(
        "查看 {table} 的结构", "按 {column} 统计行数", "对比 {table} 和 {table_b}", "查找重复", "排除测试账号", "单独核对 {region}", "画图",
        "写脚注", "把数字发给{person}", "用新数据重跑",
    ),
    thoughts={
        "": (
            "从两个方向核对一下。", "在相信 {earlier_number} 之前，先看行数。", "比我预想的多。", "看看 {earlier_id} 是不是个例。", "先看数据长什么样。", "为了稳妥再切一刀。",
        ),
        "run_query": ("查询 {target}。", "按天和地域看 {target}。", "{target} 用同样的过滤条件。"),
        "describe_table": ("{target} 有哪些列？", "先看 {target}。"),
        "run_script": ("运行脚本 {target}。", "汇总由 {target} 来做。"),
        "read_file": ("旧查询在 {target}。", "读 {target}，看看过滤条件。"),
        "list_files": ("有哪些脚本？", "列一下现有的文件。"),
        "update_plan": ("更新计划。", "目前进展如下。"),
    },
)  # fmt: skip

KINDS = {
    "coding": CODING,
    "incident": INCIDENT,
    "analysis": ANALYSIS,
    "support": SUPPORT,
    "chat": CHAT,
}
